/* server/certificate.c — for tests that start `weft serve`: a CA, and a certificate for 127.0.0.1 and localhost of it.
 *
 * usage: certificate FOLDER NAME   writes NAME.pem, NAME.key and ca-NAME.pem there
 */
#include <stdio.h>
#include <sys/stat.h>

#include "support/certs.h"

int main(int argc, char **argv)
{
    char path[4][512];
    if (argc != 3)
        return 2;
    (void)snprintf(path[3], sizeof path[3], "CA of %s", argv[2]); /* two of one name would be taken for each other */
    struct cert ca = cert_new(&(struct cert_opts){.ca = true, .name = path[3]});
    struct cert c = cert_new(&(struct cert_opts){.issuer = &ca, .name = argv[2]});
    (void)snprintf(path[0], sizeof path[0], "%s/ca-%s.pem", argv[1], argv[2]);
    (void)snprintf(path[1], sizeof path[1], "%s/%s.pem", argv[1], argv[2]);
    (void)snprintf(path[2], sizeof path[2], "%s/%s.key", argv[1], argv[2]);
    (void)umask(077);
    cert_write(&ca, path[0]);
    cert_write(&c, path[1]);
    cert_write_key(&c, path[2], NULL);
    cert_done(&c);
    cert_done(&ca);
    return 0;
}
