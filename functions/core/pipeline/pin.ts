/** The pin of a dataset in the text of a declaration, as a person wrote it. */
import { parseDocument } from 'yaml';

/**
 * Keeps comments and other fields; the space inside brackets may change.
 * @param text of a valid declaration
 * @param generation the version that it ended; undefined takes the pin out
 * @returns undefined where the text has no place for it, such as an alias for the whole of `dataset`
 */
export function withPin(text: string, generation: string | undefined): string | undefined {
  const document = parseDocument(text, { merge: true });
  try {
    if (generation !== undefined) document.setIn(['dataset', 'pin'], generation);
    else document.deleteIn(['dataset', 'pin']);
  } catch {
    return undefined;
  }
  return document.toString({ lineWidth: 0 });
}
