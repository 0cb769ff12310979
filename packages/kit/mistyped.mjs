/** Options as they were typed. It needs no package and no types, so that it also runs before set-up. */
import { nearest } from './nearest.mjs';

/**
 * @typedef {Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>} KnownOptions
 * @typedef {{ readonly kind: string, readonly name?: string, readonly rawName?: string, readonly value?: string | undefined }} Token
 */

/**
 * What is wrong with the options alone: unknown ones with the nearest known, and values missing or too many.
 * @param {readonly Token[]} tokens of node's parseArgs
 * @param {KnownOptions} options
 * @returns {string[]}
 */
export function mistypedOptions(tokens, options) {
  return tokens.flatMap(({ kind, name = '', rawName = '', value }) => {
    if (kind !== 'option') return [];
    const type = Object.prototype.hasOwnProperty.call(options, name) ? options[name]?.type : undefined;
    if (type === undefined) {
      const near = nearest(name, Object.keys(options));
      return [`there is no option ${rawName}${near === undefined ? '' : `; did you mean --${near}?`}`];
    }
    if (type === 'string' && value === undefined) return [`${rawName} needs a value`];
    if (type === 'boolean' && value !== undefined)
      return [`${rawName} takes no value, but "${value}" was given`];
    return [];
  });
}

/**
 * The words without a dash, in their places: those before the first that may be the value of an unknown option.
 * @param {readonly Token[]} tokens of node's parseArgs
 * @param {KnownOptions} options
 * @returns {string[]}
 */
export function certainWords(tokens, options) {
  const doubtful = tokens.findIndex(({ kind }, index) => {
    const { kind: before, name = '', value } = tokens[index - 1] ?? { kind: 'start' };
    const isUnknown = before === 'option' && !Object.prototype.hasOwnProperty.call(options, name);
    return kind === 'positional' && isUnknown && value === undefined;
  });
  return tokens
    .slice(0, doubtful === -1 ? tokens.length : doubtful)
    .flatMap(({ kind, value = '' }) => (kind === 'positional' ? [value] : []));
}
