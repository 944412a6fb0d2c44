<?php
// The web server of PHP serves files; WordPress handles every other path.
$root = $_SERVER['DOCUMENT_ROOT'];
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if (is_file($root . $path)) {
    if (!str_ends_with($path, '.php')) {
        return false;
    }
    $_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = $path;
    $_SERVER['SCRIPT_FILENAME'] = $root . $path;
    chdir(dirname($root . $path));
    require $root . $path;
    return true;
}
if (is_file($root . rtrim($path, '/') . '/index.php') && $path !== '/') {
    $_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = rtrim($path, '/') . '/index.php';
    chdir($root . rtrim($path, '/'));
    require $root . rtrim($path, '/') . '/index.php';
    return true;
}
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
$_SERVER['SCRIPT_FILENAME'] = $root . '/index.php';
chdir($root);
require $root . '/index.php';
return true;
