/**
 * The names of launchers and strategies, and what each is able to do.
 *
 * Called by the launchers, placement, the agent's generated table and the command line.
 */
export {
  CHEAPEST,
  choosesImage,
  DECLARED_LAUNCHERS,
  DEFAULT_LAUNCHER,
  type DeclaredLauncher,
  LAUNCHERS,
  type LauncherName,
  launchersOf,
} from './schema/launcher-names.ts';
export {
  ALONE,
  STRATEGIES,
  type Strategy,
  type StrategyTraits,
  strategyTraits,
} from './schema/strategies.ts';
