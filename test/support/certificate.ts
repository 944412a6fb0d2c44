/**
 * A certificate that is its own authority, for `localhost` only, until 2126. Its key is here for everybody to read, so
 * it proves nothing to anybody but the tests.
 */

export const certificate = `-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUP6zCyBdecl52a36OUFFDkYckXc4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA3MTE1MFoYDzIxMjYxMDI4
MDcxMTUwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATlBgs+tq+pBzYHxNqYdZ8ZbALIqETdO4+0gZp1XVgjTOuzMptkShHT
wL8VK87pq+PDKzqwQucGAO+721KHygn1o2kwZzAdBgNVHQ4EFgQUWcAn3FMtetXU
rQsxpqUBW9f2XskwHwYDVR0jBBgwFoAUWcAn3FMtetXUrQsxpqUBW9f2XskwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SAAwRQIgZ1/L0qfwV//F6TW+cYNmme2ySDJQ5Cn0zTpWNzAvjwQCIQD6jz6cjdwi
j8tl9jSKeYRBIayvCKnBMz9oSdXB8MyZ4A==
-----END CERTIFICATE-----
`;

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6dEmGG8yEXVOFVq/
TESldb5K9GH1+EkTLSn7k4GT8GOhRANCAATlBgs+tq+pBzYHxNqYdZ8ZbALIqETd
O4+0gZp1XVgjTOuzMptkShHTwL8VK87pq+PDKzqwQucGAO+721KHygn1
-----END PRIVATE KEY-----
`;
