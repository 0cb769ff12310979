/**
 * Text that users wrote, such as an S3 key, in quotes. Characters that could change a line or its direction are
 * escaped.
 */
export const quoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
