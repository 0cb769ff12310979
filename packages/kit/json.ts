/**
 * JSON that others have written, which a schema checks next. Deeper values would end the functions that call themselves for
 * each level, of Node's as of ours.
 * @returns undefined for text that is no JSON, or too deep
 */
export function parseJson(text: string): unknown {
  try {
    return isDeeper(text, MOST_LEVELS) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MOST_LEVELS = 500;
const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
/** Turns [ and ] into { and }. */
const CURLED = 0x20;

/** Whether JSON has more levels of arrays and objects than these. */
export function isDeeper(text: string, levels: number): boolean {
  // Each level has two brackets.
  if (text.length <= 2 * levels) return false;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length && depth <= levels; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isInString = !isInString;
    else if (isInString && code === BACKSLASH) at += 1;
    else if (!isInString && (code | CURLED) === OPEN) depth += 1;
    else if (!isInString && (code | CURLED) === CLOSE) depth -= 1;
  }
  return depth > levels;
}
