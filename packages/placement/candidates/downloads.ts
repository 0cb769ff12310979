/** What each start in a pool downloads, and the pools whose hosts cannot hold it or would have it too late. */

import {
  type DatasetSize,
  type Download,
  FASTER_DOWNLOAD,
  whyTooLate,
} from '@tidewheel/catalog/data-on-hosts.ts';
import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Pool, Topology } from '../records/placement-records.ts';

export interface DownloadsQuestion {
  readonly compute: Pipeline['compute'];
  readonly training: Pipeline['training'];
  readonly dataset: DatasetSize;
  readonly maximumRunSeconds: number;
  /** Undefined without a deadline. */
  readonly secondsUntilDeadline?: number | undefined;
}

/** @returns why nothing can be trained there, instead of the download */
export type DownloadIn = (
  pool: Pick<Pool, 'launcher' | 'instanceType' | 'purchaseOption'>,
  topology: Pick<Topology, 'nodes'>,
) => Download | string;

export const downloadsOf =
  (question: DownloadsQuestion): DownloadIn =>
  ({ launcher, instanceType, purchaseOption }, { nodes }) => {
    const { compute, training, dataset } = question;
    const download = launcherFacts[launcher].downloads({
      dataset,
      compute,
      training,
      instanceType,
      nodes,
      purchaseOption,
    });
    if ('problem' in download) return download.problem.message;
    const late = whyTooLate(download, tighterLimit(question));
    return late === undefined ? download : `${late}: ${FASTER_DOWNLOAD}`;
  };

/** The same with starts as long as the run's own. */
export const slowedBy =
  (ratio: number, downloadIn: DownloadIn): DownloadIn =>
  (pool, topology) => {
    const download = downloadIn(pool, topology);
    return typeof download === 'string' ? download : { ...download, seconds: download.seconds * ratio };
  };

function tighterLimit({
  maximumRunSeconds,
  secondsUntilDeadline = Number.POSITIVE_INFINITY,
}: DownloadsQuestion): Parameters<typeof whyTooLate>[1] {
  return secondsUntilDeadline < maximumRunSeconds
    ? { limitSeconds: secondsUntilDeadline, limit: 'are left until the deadline' }
    : { limitSeconds: maximumRunSeconds, limit: 'is the limit of an attempt (limits.maximumRunSeconds)' };
}
