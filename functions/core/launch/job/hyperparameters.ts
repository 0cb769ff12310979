/** Hyperparameters as SageMaker's Python SDK sends them: every value is JSON, in ASCII. */

/** Longest value in the API's model. */
export const MAXIMUM_VALUE = 2_500;
export const MAXIMUM_HYPERPARAMETERS = 100;

/**
 * Like Python's json.dumps: strings carry their quotes, and what is not ASCII becomes \uXXXX. That also takes care of
 * the API's pattern `.*`, whose dot excludes U+0085, U+2028 and U+2029 beside the newline.
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
