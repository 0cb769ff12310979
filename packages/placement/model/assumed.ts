/**
 * The figures that placement assumes where nothing was measured. `npm run bench:placement -- --assumed NAMES` shows what
 * campaigns cost with half and with twice of each; nothing else changes them. Those campaigns have one type in one region:
 * they show nothing of the last group.
 */

const HOUR = 3_600;

export const assumed = {
  // Time, in seconds. Stated, except for the queue.
  /** A Spot job that waits longer than this for capacity is worth more elsewhere. */
  patienceSeconds: 600,
  /**
   * On-Demand accelerator jobs queue in `Pending`, and a recall loses the place in the queue. SageMaker accepts a
   * MaxPendingTimeInSeconds from half an hour on; waits of almost an hour were measured, so the job has two.
   * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_StoppingCondition.html
   */
  queueSeconds: 2 * HOUR,
  /** For the save after a stop, which is paid. */
  saveSeconds: 120,
  /**
   * Noticing a loss takes one run of reconcile, and On-Demand may have no capacity once or twice. At most a share of the
   * campaign; provisioning comes on top, or the wait for On-Demand's hosts.
   */
  marginSeconds: 900,
  marginShare: 0.05,
  /** After a capacity error, doubled for each one more. */
  coolSeconds: 60,
  /** The longest; and the first after a refusal for a quota, which other jobs may use up for a while. */
  longestCoolSeconds: 900,
  longestQuotaCoolSeconds: 4 * HOUR,
  /** Capacity that was just lost may return only for minutes. */
  lossCoolSeconds: 1_800,
  /** The least time after which a score reflects a loss: AWS documents none. */
  scoreLagSeconds: 600,
  /** The longest start when capacity is there: a later one says nothing of the score. */
  promptSeconds: 300,
  /** At most this much time since the newest checkpoint counts as work that a stop will still save. */
  unsavedSeconds: HOUR,
  /** Without a deadline, a plan looks this many times the work ahead. */
  openWorks: 3,
  /**
   * How far the comparison of two pools looks, the most slack that it may use up on the way, and the starts that slack must
   * cover beside one request without success: one there, one back, one more.
   */
  comparedWorkSeconds: 6 * HOUR,
  comparedSlackSeconds: 4 * HOUR,
  comparedStarts: 3,
  /** Time beyond this many times the work changes no expectation, so the plan leaves it out. */
  horizonWorks: 2.5,
  /** As if so many On-Demand starts had been seen that waited for nothing: one wait does not tell what is usual. */
  promptStarts: 2,
  /** An estimate must be off by more than this before a run is given up for its deadline. */
  toleratedError: 1.25,

  // Money. Stated.
  /**
   * What an hour sooner is worth, as a share of the cheapest On-Demand price: small enough that the campaigns of `npm run
   * bench:placement` cost what they cost without it, and large enough to decide between costs that hardly differ.
   */
  timeShare: 0.01,
  /** USD: no run stands still for an hour to save a cent. */
  leastTimeUsd: 0.01,
  /**
   * Share of the gang's price that a minute of waiting is taken to cost. A higher share would give Spot up too early, and
   * without any a run would ask a pool that is surely down to save one cent.
   */
  waitingShare: 0.1,
  /**
   * The cost of standing still beside a pool that is up, as a share of its price. At 0, campaigns cost half a percent
   * less and runs stand still for a cent; at 0.3 they cost a percent more (docs/research/log.md).
   */
  stillShare: 0.15,

  // Chances. Stated.
  /** A run leaves a pool, or passes it over, only for a Spot pool that is at least so likely up. */
  leastChance: 0.5,
  /** A run waits for a pool below this chance of capacity, and does not try it while others are allowed. */
  leastChanceTried: 0.25,
  /** Asking a cheaper pool costs an attempt; this share of the attempts is kept for losses. */
  attemptsKept: 0.5,
  /**
   * How much news of another pool says, from 0 (nothing) to 1 (everything): of the same family in the zone, or of the
   * other launcher, which has the same machines but a pool of its own.
   */
  close: 0.7,
  sameZone: 0.5,
  sameType: 0.3,
  /** Hours in which observations are forgotten: a belief returns to the long run, or the pool's own statistics. */
  forgettingHours: 12,
  /** As how many attempts and losses of its own the fitted chain counts beside a pool's. */
  chainAttempts: 6,
  chainLosses: 2,
  /** As how many attempts on either side the prior of placement scores counts. */
  scoreMeetings: 4,

  // How futures spread: standard deviations of logarithms. Stated; `npm run bench:promise` shows what they hold.
  startSpread: 0.25,
  priceSpread: 0.01,
  /** As priors of a whole run's work: one more attempt, or run, would have shown it. */
  paceSpread: 0.08,
  workSpread: 0.06,
  /** The pace of the rest of an attempt spreads by this share of how attempts do. */
  withinShare: 0.22,
  /** Work past its declared end: as likely more as less than this share of what was done. */
  overrun: 0.05,
  overrunSpread: 1,
  /** On-Demand looks for Spot less often in a future than in truth; a saving of hours loses little by it. */
  futureLookSeconds: 1_800,
  /** How much dearer a pool counts that no score shows to be up. */
  doubtful: 3,

  // Types and ways that were not measured: shares, bytes, and standard deviations of logarithms. Stated.
  /** Bytes a second that S3 copies between two regions, many objects at a time. */
  copyBytes: 250e6,
  /** Bytes a second of one accelerator: NVLink's generations reach 150 to 450 GB/s, a PCIe switch about 10 GB/s. */
  nvlinkBytes: 200e9,
  pcieBytes: 10e9,
  /** About ResNet-50 in 32 bits, until a checkpoint gives the size. */
  gradientBytes: 1e8,
  /** A vCPU of a helper is worth this much of a local one: samples are sent over the network. */
  helperWorth: 0.8,
  /** A helper group must gain so much to be worth the risk that it finds no capacity, and as much for each more node. */
  helperGain: 0.05,
  /** A host this busy is saturated: the step waits for it. */
  hostSaturated: 0.85,
  /** Attainable of a network's nominal bandwidth, without and with EFA. */
  tcpShare: 0.6,
  efaShare: 0.8,
  /** Share of a gradient exchange that the backward pass hides. */
  hiddenExchange: 0.5,
  /**
   * Share of a step on CPUs that only one vCPU works on: reading, the loop itself, small operations. Loader workers beside an
   * accelerator share nothing, so they scale with the vCPUs.
   */
  serialShare: 0.02,
  /** An optimiser with two moments makes a checkpoint so many gradients large. */
  checkpointGradients: 3,
  /** For each doubling of the vCPUs that train, and where the use of a host was not measured. */
  hostSpread: 0.1,
  /** Between single steps. */
  stepSpread: 0.5,
  /** For the speed ratio of two accelerators between data sheets and training. */
  otherKindSpread: 0.25,
  /** Another sort of device: Trainium for a GPU, CPUs for accelerators, and one whose speed no source names. */
  otherSortSpread: 0.6,
  /** For disks whose rate no source names: local NVMe reads some 0.5 to 1.5 GB a second. */
  diskSpread: 0.35,
};

export type AssumedName = keyof typeof assumed;

/** Until the next look at a running attempt (reconcile's schedule), in seconds that are paid. */
export const NEXT_LOOK_SECONDS = 300;

// Formats times and amounts of money, the same way in every sentence and table.

/** In hours; what is less than a tenth of one in minutes, or in seconds. */
export function hours(seconds: number): string {
  if (seconds >= 360 || seconds <= 0) return `${(seconds / 3_600).toFixed(1)} h`;
  return seconds >= 60 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds)} s`;
}

/** With cents; amounts below a cent with two significant digits. */
export const dollars = (amount: number): string =>
  `$${amount > 0 && amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`;
