/**
 * Certificates for receivers on this machine, because Node.js cannot create any. They are valid from 2020 to the end
 * of 2099. The authority's key does not exist any more, and only these tests trust it.
 *
 * Made with `openssl ca` on P-256 keys. The names are receiver.example.com, second.example.com, localhost, and
 * 127.0.0.1.
 */

/** The trusted authority. */
export const authority = `-----BEGIN CERTIFICATE-----
MIIBZTCCAQugAwIBAgIBATAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5UZXN0IGF1
dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMDk5MTIzMTAwMDAwMFowGTEXMBUG
A1UEAwwOVGVzdCBhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATk
dKX5+CL5FUu2Z4gmeiuL6F5MXI/0piBDwbBtsm8QOsnAuhY1F8gNy33rn9SFt6lc
xeqNpRHBU6RJnqM4gRjho0IwQDAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQE
AwICBDAdBgNVHQ4EFgQUdXgQujQ4tIWL46UHruPmyweB2gMwCgYIKoZIzj0EAwID
SAAwRQIgfUGv2Edb9OEEzutaN91Uawg6dSV1tpA0yBHr5DHWYZQCIQDa1c8DCL0v
BVF82JUVE6fGSbRMoSPGDYz2iFjLsL6ePw==
-----END CERTIFICATE-----`;

export const certificate = `-----BEGIN CERTIFICATE-----
MIIB1DCCAXmgAwIBAgIBAjAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5UZXN0IGF1
dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMDk5MTIzMTAwMDAwMFowHzEdMBsG
A1UEAwwUcmVjZWl2ZXIuZXhhbXBsZS5jb20wWTATBgcqhkjOPQIBBggqhkjOPQMB
BwNCAATXMBgkiQ+971+zHCg3DDde6+urONkKWYwdCLFoOBekJCtp/95djUdlTfzd
HIlwHMh2uhM4Vm39OgNeMaSMFr09o4GpMIGmMEQGA1UdEQQ9MDuCFHJlY2VpdmVy
LmV4YW1wbGUuY29tghJzZWNvbmQuZXhhbXBsZS5jb22HBH8AAAGCCWxvY2FsaG9z
dDAfBgNVHSMEGDAWgBR1eBC6NDi0hYvjpQeu4+bLB4HaAzATBgNVHSUEDDAKBggr
BgEFBQcDATAJBgNVHRMEAjAAMB0GA1UdDgQWBBRLB/9Y8V/6ODROVumy7lEMlawj
pTAKBggqhkjOPQQDAgNJADBGAiEAue55rRhTeOrf/9/1h+B9qjT/5Fqu2zfbwf67
sgIywCoCIQDlJAYadPs2U8nMT4cSBKuHovLtOpYdwNFgoWdC7RR2Tw==
-----END CERTIFICATE-----`;

/** The same, valid until the end of 2020. */
export const expiredCertificate = `-----BEGIN CERTIFICATE-----
MIIB0TCCAXegAwIBAgIBAzAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5UZXN0IGF1
dGhvcml0eTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMB8xHTAbBgNV
BAMMFHJlY2VpdmVyLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAE1zAYJIkPve9fsxwoNww3XuvrqzjZClmMHQixaDgXpCQraf/eXY1HZU383RyJ
cBzIdroTOFZt/ToDXjGkjBa9PaOBqTCBpjBEBgNVHREEPTA7ghRyZWNlaXZlci5l
eGFtcGxlLmNvbYISc2Vjb25kLmV4YW1wbGUuY29thwR/AAABgglsb2NhbGhvc3Qw
HwYDVR0jBBgwFoAUdXgQujQ4tIWL46UHruPmyweB2gMwEwYDVR0lBAwwCgYIKwYB
BQUHAwEwCQYDVR0TBAIwADAdBgNVHQ4EFgQUSwf/WPFf+jg0Tlbpsu5RDJWsI6Uw
CgYIKoZIzj0EAwIDSAAwRQIhAO+x7veCu9zhVBzQ2oJfKSdA6w6uxCePOjwo9OR3
cC8kAiBWiu9J08A4DJvfDB8BoeRwFcHmgZIdCgjH3T6GT8KdHA==
-----END CERTIFICATE-----`;

/** The key of both certificates. It is not secret. */
export const certificateKey = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIAeTHAHVQXLREaYkeQxHOrEoBp7xjJbFuhbbbx7qmL7DoAoGCCqGSM49
AwEHoUQDQgAE1zAYJIkPve9fsxwoNww3XuvrqzjZClmMHQixaDgXpCQraf/eXY1H
ZU383RyJcBzIdroTOFZt/ToDXjGkjBa9PQ==
-----END EC PRIVATE KEY-----`;
