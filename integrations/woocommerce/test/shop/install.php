<?php
/** Installs WordPress and WooCommerce in a folder, with the products, taxes and shipping of the HTTP test. */

$_SERVER['HTTP_HOST'] = '127.0.0.1';
$_SERVER['REQUEST_METHOD'] = 'GET';
define('WP_INSTALLING', true);
require $argv[1] . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
if (!is_blog_installed()) {
    wp_install('Test shop', 'admin', 'admin@example.com', false, '', 'admin-password');
}
update_option('permalink_structure', '/%postname%/');
update_option('active_plugins', []);
$run = static function (string $code) use ($argv): void {
    // A process of its own has the plugins that the process before it activated.
    $command = [PHP_BINARY, '-d', 'memory_limit=512M', '-r', '$argv = ["", ' . var_export($argv[1], true) . ']; $_SERVER["HTTP_HOST"] = "127.0.0.1"; $_SERVER["REQUEST_METHOD"] = "GET"; require $argv[1] . "/wp-load.php"; wp_set_current_user(1); require_once ABSPATH . "wp-admin/includes/plugin.php"; ' . $code];
    $process = proc_open($command, [1 => STDOUT, 2 => STDERR], $pipes);
    if (proc_close($process) !== 0) {
        exit(1);
    }
};
$run('$e = activate_plugin("woocommerce/woocommerce.php"); if (is_wp_error($e)) { fwrite(STDERR, $e->get_error_message()); exit(1); }');
$run('WC_Install::install(); WC_Install::create_pages();');
$run('$e = activate_plugin("largesse-gift-cards/largesse-gift-cards.php"); if (is_wp_error($e)) { fwrite(STDERR, $e->get_error_message()); exit(1); }');
$run('largesse_test_prepare_shop(); flush_rewrite_rules();');
