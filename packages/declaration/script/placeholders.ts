/**
 * Placeholders in arguments and variables. The agent replaces them on each host, where it alone knows the folders
 * (`training/agent/tidewheel_agent/configuration/placeholders.py`).
 */

const FOLDERS = ['checkpoints', 'model', 'output', 'source'] as const;

/** Stands alone as an argument, and becomes all `--name value`. */
export const HYPERPARAMETERS = '${hyperparameters}';

export const SHARDS_CHANNEL = 'train';

/**
 * The channel of a split's shards: its name, unless the declaration gives that to other data. `train-1` is the second
 * Pipe of `train`.
 */
export const shardsChannel = (split: string, declared: readonly string[]): string =>
  declared.some((name) => name === split || (name.startsWith(`${split}-`) && /-\d+$/.test(name)))
    ? `shards_${split}`
    : split;

/** The channel of `packing: none`. */
export const FILES_CHANNEL = 'training';
/** Of `training.startFrom`. */
export const MODEL_CHANNEL = 'model';
/** Brings the model in use, which the agent unpacks for the evaluation. No script reads it. */
export const CURRENT_CHANNEL = 'tidewheel_current';
/** Of `packing.split`. Whether it declares them is a rule over the whole declaration. */
const SPLIT_CHANNELS: readonly string[] = ['validation', 'test'];
const CHANNEL = /^channel:(.*)$/;

/** `$$` is one dollar sign. A `$` before anything else but `{` is itself. */
const TOKEN = /\$\$|\$\{([^{}]*)\}|\$\{/g;

interface Placeholder {
  /** Absent where the closing brace is missing. */
  readonly name: string | undefined;
}

const placeholdersIn = (text: string): readonly Placeholder[] =>
  [...text.matchAll(TOKEN)].filter(([token]) => token !== '$$').map(([, name]) => ({ name }));

/** @param channels names of the declared channels */
export function placeholderProblems(text: string, channels: readonly string[]): string[] {
  return placeholdersIn(text).flatMap(({ name }) => {
    if (name === undefined) return ['has ${ without }: close it, or write $${ for the characters themselves'];
    const known = [...new Set([shardsChannel(SHARDS_CHANNEL, channels), ...channels])];
    const channel = CHANNEL.exec(name)?.[1];
    if (channel !== undefined) {
      const ofSplits = SPLIT_CHANNELS.map((split) => shardsChannel(split, channels));
      if ([...known, ...ofSplits, FILES_CHANNEL].includes(channel)) return [];
      return [`names the channel ${shown(channel)}: the channels are ${known.join(', ')}`];
    }
    if (FOLDERS.some((folder) => folder === name)) return [];
    if (name === 'hyperparameters')
      return ['has ${hyperparameters} inside: it stands alone in training.arguments'];
    return [`names \${${shown(name)}}: write one of ${KNOWN}, or $\${ for the characters themselves`];
  });
}

const KNOWN = [...FOLDERS, 'channel:NAME'].map((name) => `\${${name}}`).join(', ');

const shown = (name: string): string => JSON.stringify(name.slice(0, 60)).slice(1, -1);

/** The channels whose folders a text names. */
export const channelsIn = (text: string): readonly string[] =>
  placeholdersIn(text).flatMap(({ name }) => CHANNEL.exec(name ?? '')?.[1] ?? []);

/** Whether the argument is left out on a host that does not have its path. `??` at the end is a question mark. */
export const isOptional = (argument: string): boolean =>
  argument.endsWith('?') && !argument.endsWith('??') && placeholdersIn(argument).length > 0;

export function optionalProblems(argument: string): string[] {
  if (!isOptional(argument)) return [];
  if (placeholdersIn(argument).length > 1)
    return [
      'ends with ? and has several placeholders: only one path can be looked for, so leave out the ? or a placeholder',
    ];
  return newestProblems(argument);
}

/** `*` below the checkpoint folder asks for the newest checkpoint of such a name. */
function newestProblems(argument: string): string[] {
  const [, name = '', below = ''] = /(?<!\$)(?:\$\$)*\$\{([^{}]*)\}(.*)\?$/su.exec(argument) ?? [];
  if (!below.includes('*')) return [];
  const example = 'write it like ${checkpoints}/epoch_*.pt?, for the newest checkpoint of such a name';
  if (name !== 'checkpoints') return [`has * below \${${shown(name)}}: ${example}`];
  if (!below.startsWith('/')) return [`has no / after \${checkpoints}: ${example}`];
  if (below.includes('**')) return ['has **: write one * for each folder of the path'];
  const isPlain = below
    .slice(1)
    .split('/')
    .every((part) => !/^\.{0,2}$/.test(part));
  return isPlain ? [] : ['write the path below ${checkpoints} without ".", ".." and empty parts'];
}
