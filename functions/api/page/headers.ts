/** What a browser may do with the page. The server on loopback and the function of a stack send the same. */

/** Of every answer. */
export const HEADERS = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * A browser reads these of documents alone.
 * @param connect origins that the page calls, beside its own
 */
export const documentHeaders = (...connect: readonly string[]) => ({
  'content-security-policy':
    `default-src 'none'; script-src 'self'; style-src 'self'; connect-src ${["'self'", ...connect].join(' ')}; ` +
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
});
