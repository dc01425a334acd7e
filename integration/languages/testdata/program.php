<?php
[$engine, $host, $user, $name, $code] = array_slice($argv, 1);
$db = $engine == 'postgres' ? new PDO("pgsql:host=$host;dbname=$name", $user) : new PDO("mysql:unix_socket=$host;dbname=$name", $user);
$db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
foreach ([1, 1, 99] as $id) {
	eval(file_get_contents($code));
	echo "$found\n";
}
foreach ($top as $post) {
	echo "$post[id] $post[title] $post[views]\n";
}
