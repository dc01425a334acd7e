"use strict";
(function () {
  // One look per scenario, on every chart; colours that colour-blind eyes tell apart, on light and on dark.
  const looks = {
    "naive": { color: "#4d4d4d", dark: "#c4c9cf", point: "circle" },
    "for-update": { color: "#d55e00", dark: "#f08a3c", point: "triangle" },
    "lock-free": { color: "#cc6fa0", dark: "#e39cc3", point: "rect" },
    "slots": { color: "#e0a100", dark: "#e8b830", point: "rectRot" },
    "skip-locked": { color: "#00916e", dark: "#3cc39f", point: "cross" },
    "wrapped": { color: "#0b5fa5", dark: "#4da3ea", point: "circle", width: 3.5 },
    "wrapped-no-coalesce": { color: "#56a9dd", dark: "#9ccbf0", point: "circle", dash: [6, 4] },
    "redis": { color: "#7c3aed", dark: "#b394ff", point: "star", dash: [2, 3] },
  };
  // Paper is white, whatever the screen is.
  let printing = false;
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => darkness.matches && !printing;
  const look = (name) => {
    const l = looks[name] || { color: "#888888", dark: "#999999", point: "circle" };
    return { ...l, color: dark() ? l.dark : l.color };
  };
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const light = { paper: "#ffffff", soft: "#5a6675", line: "#dfe4ea", faint: "#f2f4f7" };
  const colour = (name) => printing ? light[name] : variable(name);
  const paintDots = () => document.querySelectorAll(".dot").forEach((dot) => { dot.style.background = look(dot.dataset.scenario).color; });

  const narrow = () => window.innerWidth <= 520;
  const short = (v) => v >= 10000 ? Math.round(v / 1000).toLocaleString("en") + "k" : v.toLocaleString("en", { maximumSignificantDigits: 3 });
  const long = (v) => v >= 1000 ? Math.round(v).toLocaleString("en") : v.toLocaleString("en", { maximumSignificantDigits: 3 });
  // On a logarithmic scale only the powers of ten are named.
  const power = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;

  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = narrow() ? 12 : 13;

  // A logarithmic scale begins at a power of ten, so that bars have a foot that means something.
  const floor = (spec) => Math.pow(10, Math.floor(Math.log10(Math.min(...spec.series.flatMap((s) => s.values).filter((v) => v > 0))) - 1e-9));

  function scale(log, spec) {
    return {
      min: log ? floor(spec) : undefined,
      type: log ? "logarithmic" : "linear",
      beginAtZero: !log,
      title: { display: true, text: spec.y, color: colour("soft") },
      grid: { color: (c) => !log || c.tick && power(c.tick.value) ? colour("line") : colour("faint") },
      border: { display: false },
      ticks: { color: colour("soft"), callback: (v) => !log || power(v) ? short(v) : "", autoSkip: !log, maxTicksLimit: log ? 60 : 7 },
    };
  }

  function draw(spec, id, log) {
    const canvas = document.getElementById("chart" + id);
    const unit = spec.y.startsWith("milliseconds") ? " ms" : " /s";
    const datasets = spec.series.map((s) => {
      const l = look(s.scenario);
      return {
        label: s.title, data: s.values, borderColor: l.color, spanGaps: true,
        backgroundColor: spec.kind === "bar" ? l.color : colour("paper"),
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
          x: { title: { display: spec.x !== "", text: spec.x, color: colour("soft") }, grid: { display: false }, ticks: { maxRotation: 50, color: colour("soft") } },
          y: scale(log, spec),
        },
        plugins: {
          legend: { position: "bottom", labels: { usePointStyle: true, boxHeight: 7, padding: narrow() ? 8 : 10, font: { size: 12 }, color: colour("soft"),
            sort: (a, b) => a.datasetIndex - b.datasetIndex } },
          tooltip: { itemSort: (a, b) => b.parsed.y - a.parsed.y, usePointStyle: true,
            callbacks: { title: (items) => (spec.x ? spec.x + ": " : "") + spec.labels[items[0].dataIndex], label: (i) => " " + i.dataset.label + ": " + long(i.parsed.y) + unit } },
        },
      },
    });
  }

  let drawn = [];
  const box = document.getElementById("log");
  // Redraws in the colours of now: the reader may change between light and dark.
  function drawAll() {
    drawn.forEach((chart) => chart.destroy());
    paintDots();
    drawn = charts.map((spec, id) => draw(spec, id, spec.log || box !== null && box.checked));
  }
  drawAll();
  if (box) box.addEventListener("change", drawAll);
  darkness.addEventListener("change", drawAll);
  window.addEventListener("beforeprint", () => { printing = true; drawAll(); });
  window.addEventListener("afterprint", () => { printing = false; drawAll(); });
})();
