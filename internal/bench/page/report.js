"use strict";
(function () {
  // One look per scenario, on every chart; colours that colour-blind eyes tell apart.
  const looks = {
    "naive": { color: "#4d4d4d", point: "circle" },
    "for-update": { color: "#d55e00", point: "triangle" },
    "lock-free": { color: "#cc6fa0", point: "rect" },
    "slots": { color: "#e0a100", point: "rectRot" },
    "skip-locked": { color: "#00916e", point: "cross" },
    "wrapped": { color: "#0b5fa5", point: "circle", width: 3.5 },
    "wrapped-no-coalesce": { color: "#56a9dd", point: "circle", dash: [6, 4] },
    "redis": { color: "#7c3aed", point: "star", dash: [2, 3] },
  };
  const look = (name) => looks[name] || { color: "#888", point: "circle" };
  document.querySelectorAll(".dot").forEach((dot) => { dot.style.background = look(dot.dataset.scenario).color; });

  const narrow = () => window.innerWidth <= 520;
  const short = (v) => v >= 10000 ? Math.round(v / 1000).toLocaleString("en") + "k" : v.toLocaleString("en", { maximumSignificantDigits: 3 });
  const long = (v) => v >= 1000 ? Math.round(v).toLocaleString("en") : v.toLocaleString("en", { maximumSignificantDigits: 3 });
  // On a logarithmic scale only the powers of ten are named.
  const power = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = narrow() ? 12 : 13;
  Chart.defaults.color = "#5a6675";

  // A logarithmic scale begins at a power of ten, so that bars have a foot that means something.
  const floor = (spec) => Math.pow(10, Math.floor(Math.log10(Math.min(...spec.series.flatMap((s) => s.values).filter((v) => v > 0))) - 1e-9));

  function scale(log, spec) {
    return {
      min: log ? floor(spec) : undefined,
      type: log ? "logarithmic" : "linear",
      beginAtZero: !log,
      title: { display: true, text: spec.y },
      grid: { color: (c) => !log || c.tick && power(c.tick.value) ? "#dfe4ea" : "#f2f4f7" },
      border: { display: false },
      ticks: { callback: (v) => !log || power(v) ? short(v) : "", autoSkip: !log, maxTicksLimit: log ? 60 : 7 },
    };
  }

  function draw(spec, id) {
    const canvas = document.getElementById("chart" + id);
    const unit = spec.y.startsWith("milliseconds") ? " ms" : " /s";
    const datasets = spec.series.map((s) => {
      const l = look(s.scenario);
      return {
        label: s.title, data: s.values, borderColor: l.color, spanGaps: true,
        backgroundColor: spec.kind === "bar" ? l.color : "#fff",
        borderWidth: spec.kind === "bar" ? 0 : l.width || 2, borderDash: spec.kind === "bar" ? [] : l.dash || [],
        borderRadius: 3, maxBarThickness: 64, categoryPercentage: 0.82, barPercentage: 0.94,
        pointStyle: spec.kind === "bar" ? "rectRounded" : l.point, pointRadius: 4, pointHoverRadius: 6, pointBorderWidth: 2,
        order: spec.kind === "line" && l.width ? 0 : 1, // slotsql's line lies on top
      };
    });
    return new Chart(canvas, {
      type: spec.kind,
      data: { labels: spec.labels.map((l) => l.split(/ (?=\+)/)), datasets: datasets },
      options: {
        animation: false, responsive: true, maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        layout: { padding: { right: 8 } },
        scales: {
          x: { title: { display: spec.x !== "", text: spec.x }, grid: { display: false }, ticks: { maxRotation: 50 } },
          y: scale(spec.log, spec),
        },
        plugins: {
          legend: { position: "bottom", labels: { usePointStyle: true, boxHeight: 7, padding: narrow() ? 8 : 10, font: { size: 12 },
            sort: (a, b) => a.datasetIndex - b.datasetIndex } },
          tooltip: { itemSort: (a, b) => b.parsed.y - a.parsed.y, usePointStyle: true,
            callbacks: { title: (items) => (spec.x ? spec.x + ": " : "") + spec.labels[items[0].dataIndex], label: (i) => " " + i.dataset.label + ": " + long(i.parsed.y) + unit } },
        },
      },
    });
  }

  const drawn = charts.map(draw);
  const box = document.getElementById("log");
  if (box) {
    box.addEventListener("change", () => drawn.forEach((chart, i) => {
      if (charts[i].log) return;
      chart.options.scales.y = scale(box.checked, charts[i]);
      chart.update();
    }));
  }
  window.addEventListener("beforeprint", () => drawn.forEach((chart) => chart.resize()));
  window.addEventListener("afterprint", () => drawn.forEach((chart) => chart.resize()));
})();
