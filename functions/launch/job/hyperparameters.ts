/** Hyperparameters as SageMaker's Python SDK sends them: every value is JSON, in ASCII. */
import type { Hyperparameter } from '@tidewheel/declaration/pipeline.ts';

/** Longest value in the API's model. */
export const MAXIMUM_VALUE = 2_500;
export const MAXIMUM_HYPERPARAMETERS = 100;

/**
 * Like Python's json.dumps: strings keep their quotes, and characters outside ASCII become \uXXXX. This also satisfies
 * the API's pattern `.*`, whose dot excludes U+0085, U+2028, U+2029 and the newline.
 */
function encodeHyperparameter(value: Hyperparameter | readonly string[]): string {
  if (typeof value === 'object' && 'number' in value) return value.number;
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function encodeHyperparameters(
  values: Readonly<Record<string, Hyperparameter | readonly string[]>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, encodeHyperparameter(value)]));
}

/** Divides a text into pieces, each of which fits a hyperparameter as JSON. */
export function hyperparameterPieces(text: string): string[] {
  const pieces: string[] = [];
  let piece = '';
  let length = 2;
  for (const character of text) {
    const more = encodeHyperparameter(character).length - 2;
    if (length + more > MAXIMUM_VALUE) {
      pieces.push(piece);
      piece = '';
      length = 2;
    }
    piece += character;
    length += more;
  }
  return [...pieces, piece];
}
