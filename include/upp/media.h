/* upp/media.h — images, documents, audio, video: from files, bytes and URLs to message parts, and back.
 *
 * A struct upp_media created here owns its data: free it with upp_media_free. upp_media_part borrows it.
 */
#pragma once

#include <upp/message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* kind: UPP_PART_IMAGE, _DOCUMENT, _AUDIO, _VIDEO. from_path takes the MIME type from the file extension; from_bytes
 * and from_base64 need one (-UPP_EINVALID). Empty data or a missing file is an error; the limit is 64 MiB. */
UPP_API int upp_media_from_path(uint8_t kind, const char *path, struct upp_media **ret,
                                struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_media_from_bytes(uint8_t kind, const void *p, size_t n, const char *mime, struct upp_media **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_media_from_base64(uint8_t kind, struct upp_str base64, const char *mime, struct upp_media **ret,
                                  struct upp_err *err) UPP_MUST_CHECK;
/* Images and documents. mime NULL: from the URL's extension. A document's URL must be http(s) and is always a PDF. */
UPP_API int upp_media_from_url(uint8_t kind, struct upp_str url, const char *mime, struct upp_media **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_media_from_text(struct upp_str text, const char *title, struct upp_media **ret,
                                struct upp_err *err) UPP_MUST_CHECK; /* a document */
UPP_API void upp_media_free(struct upp_media *m);                    /* accepts NULL */

UPP_API struct upp_part upp_media_part(uint8_t kind, const struct upp_media *m);

/* Free *ret with upp_text_free. -UPP_EINVALID: only the URL is known. */
UPP_API int upp_media_base64(const struct upp_media *m, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_media_data_url(const struct upp_media *m, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_media_bytes(const struct upp_media *m, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

UPP_API const char *upp_mime_of_path(uint8_t kind, const char *path); /* "application/octet-stream" if unknown */

#ifdef __cplusplus
}
#endif
