/** Keys are written by anybody: in quotes, with everything escaped that could change a line of text or its direction. */
export const quoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
