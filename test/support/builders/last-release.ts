/** Records and reports as the release of 23 November 2026 wrote them. */
import type { Item } from '../../../functions/records/stored-records.ts';

/** What that release pinned of a declaration that names only its format, strategy and type. */
export const PINNED = `{"name":"digits","settle":{"quietSeconds":60,"maximumWaitSeconds":3600},"packing":{"format":"webdataset","shardMegabytes":256,"seed":0,"label":"parentFolder","labelType":"text","shuffle":true,"remainder":"ragged","lines":{"kind":"text","header":"none"},"records":{"kind":"tfrecord"},"whenDone":"keep"},"training":{"strategy":"single","source":"source/","framework":"pytorch","frameworkVersion":"2.13","hyperparameters":{},"distribution":"FullyReplicated"},"compute":{"instanceTypes":["g5.xlarge"],"nodes":1,"purchaseOption":"spot-then-on-demand","volumeGigabytes":30},"limits":{"maximumRunSeconds":86400,"attempts":50},"retention":{"workDays":30,"checkpointDays":30,"failedCheckpointDays":90,"sourceDays":365},"trainWithoutNewData":false}`;

const without = (item: unknown, ...names: readonly string[]): Item =>
  Object.fromEntries(Object.entries(Object(item) as Item).filter(([name]) => !names.includes(name)));

/** A run of today, without the fields that came since. */
export const asOldRun = (run: Item): Item => {
  const old = without(run, 'result', 'newestEventAt');
  const { declaration } = old;
  if (declaration === undefined) return old;
  const { packing } = declaration as Item;
  return {
    ...old,
    declaration: {
      ...without(declaration, 'doctor', 'notify'),
      packing: without(packing, 'waitHours', 'mayReject'),
    },
  };
};

export const asOldAttempt = (attempt: Item): Item =>
  without(attempt, 'startedAt', 'startUp', 'input', 'diagnosis', 'applied');

export const asOldReport = (report: unknown): Item =>
  without(report, 'speeds', 'onDemandNode', 'fileSystemsUsd');
