/**
 * Text that users wrote, such as an S3 key, in quotes. Characters that could change a line or its direction are
 * escaped.
 */
export const quoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );

/** The text itself where it has nothing but letters, digits, punctuation, symbols and blanks. */
export const quotedIfNeeded = (text: string): string =>
  /^[\p{L}\p{N}\p{P}\p{S} ]*$/u.test(text) ? text : quoted(text);

const LONGEST_KEY_SHOWN = 80;

/** Anyone may choose a key, so characters that could change the line are escaped and long keys are cut. */
export function shownKey(key: string): string {
  const text = key.length <= LONGEST_KEY_SHOWN ? key : `${key.slice(0, LONGEST_KEY_SHOWN).toWellFormed()}...`;
  return quotedIfNeeded(text);
}
