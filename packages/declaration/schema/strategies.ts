/**
 * The training strategies and what the service and the agent must know of each: one table, and no other list of names.
 * `training/agent/tidewheel_agent/strategies/README.md` says what else a new strategy needs.
 * The agent on the hosts reads a copy, which `npm run generate` writes and a test compares.
 */

export const STRATEGIES = [
  'single',
  'ddp',
  'ray',
  'mpi',
  'parameter-server',
  'multi-worker-mirrored',
  'data-service',
] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** One process on one host. */
export const ALONE: Strategy = 'single';

export const isStrategy = (name: unknown): name is Strategy => STRATEGIES.some((known) => known === name);

export interface StrategyTraits {
  /** How many hosts can train together. */
  readonly trainingHosts: 'one' | 'several';
  /** Processes on each training host. `processesPerHost` of the pipeline overrides one per accelerator. */
  readonly processes: 'one' | 'perAccelerator';
  /** What hosts of the other instance groups do: run the script too, wait, serve it, or join its cluster. */
  readonly otherGroups: 'runScript' | 'wait' | 'serve' | 'joinCluster';
  /** Which hosts read and prepare the training data. */
  readonly dataPreparedBy: 'trainingHosts' | 'helpers' | 'allHosts';
  /** Whose script saves: that of the first training host, or of any of them. */
  readonly savedBy: 'leader' | 'anyHost';
  /** Whether the agent can save and restore its scripts (`training.checkpoint: automatic`). */
  readonly savedAutomatically: boolean;
  /** Whether training resumes from a checkpoint with new hosts in place of lost ones, while the others stay. */
  readonly replacesLostHosts: boolean;
  /** Whether it runs on AWS's Trainium. */
  readonly runsOnTrainium: boolean;
  /** The framework that an image must have. */
  readonly framework: 'any' | 'pytorch' | 'tensorflow';
}

/** Most strategies share these: equal training hosts, and hosts of other groups that only wait. */
const GANG = {
  trainingHosts: 'several',
  processes: 'one',
  otherGroups: 'wait',
  dataPreparedBy: 'trainingHosts',
  savedBy: 'leader',
  savedAutomatically: false,
  replacesLostHosts: true,
  runsOnTrainium: false,
} as const satisfies Partial<StrategyTraits>;

export const strategyTraits: Readonly<Record<Strategy, StrategyTraits>> = {
  single: {
    trainingHosts: 'one',
    processes: 'one',
    otherGroups: 'runScript',
    dataPreparedBy: 'trainingHosts',
    savedBy: 'leader',
    savedAutomatically: true,
    replacesLostHosts: false,
    runsOnTrainium: true,
    framework: 'any',
  },
  // https://sagemaker.readthedocs.io/en/v2.232.2/frameworks/pytorch/using_pytorch.html: torchrun launches Trainium.
  ddp: {
    ...GANG,
    processes: 'perAccelerator',
    savedAutomatically: true,
    runsOnTrainium: true,
    framework: 'pytorch',
  },
  // Ray places rank 0, which saves in most scripts, on any training host.
  ray: {
    ...GANG,
    otherGroups: 'joinCluster',
    dataPreparedBy: 'allHosts',
    savedBy: 'anyHost',
    framework: 'any',
  },
  mpi: { ...GANG, processes: 'perAccelerator', framework: 'any' },
  'parameter-server': { ...GANG, otherGroups: 'serve', framework: 'tensorflow' },
  'multi-worker-mirrored': { ...GANG, framework: 'tensorflow' },
  // Its data servers are a second instance group, which a fleet on EC2 does not have: nothing replaces its hosts.
  'data-service': {
    ...GANG,
    otherGroups: 'joinCluster',
    dataPreparedBy: 'helpers',
    replacesLostHosts: false,
    framework: 'tensorflow',
  },
};

/** The strategies that have a trait, for a sentence. */
export const strategiesWith = (holds: (traits: StrategyTraits) => boolean): string =>
  STRATEGIES.filter((name) => holds(strategyTraits[name])).join(' or ');
