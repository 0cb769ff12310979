/**
 * How a declaration names the script, its arguments and its files.
 *
 * Out: placeholders, the channels that arguments need, which files belong to a source. Called by the launchers, `init` and `try`.
 */

export { prefixUri } from './schema/prefix.ts';
export { IN_CHECKPOINTS, neededChannels } from './script/arguments.ts';
export {
  type GitIdentity,
  gitIdentitySchema,
  gitNoteSchema,
  sourceFingerprint,
} from './script/git-identity.ts';
export {
  CURRENT_CHANNEL,
  HYPERPARAMETERS,
  MODEL_CHANNEL,
  SHARDS_CHANNEL,
  shardsChannel,
} from './script/placeholders.ts';
export { belongsToSource } from './script/source-files.ts';
