/** Hyperparameters as SageMaker's Python SDK sends them: every value is JSON, in ASCII. */

/** Longest value in the API's model. */
export const MAXIMUM_VALUE = 2_500;
export const MAXIMUM_HYPERPARAMETERS = 100;

/**
 * Like Python's json.dumps: strings keep their quotes, and characters outside ASCII become \uXXXX. This also satisfies
 * the API's pattern `.*`, whose dot excludes U+0085, U+2028, U+2029 and the newline.
 */
function encodeHyperparameter(value: string | number | boolean | readonly string[]): string {
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export function encodeHyperparameters(
  values: Readonly<Record<string, string | number | boolean | readonly string[]>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, encodeHyperparameter(value)]));
}
