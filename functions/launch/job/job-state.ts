/** Readings of DescribeTrainingJob that more than one decision needs. */
import type { StartUp } from '@tidewheel/placement/records.ts';
import type { StatusTransition, TrainingJobDescription } from './training-service.ts';

/** Only an ended job can be deleted, so Deleting is terminal. An unknown status is not: limits bound the wait. */
const TERMINAL: ReadonlySet<string> = new Set(['Completed', 'Failed', 'Stopped', 'Deleting']);

export const isTerminal = (job: TrainingJobDescription): boolean => TERMINAL.has(job.TrainingJobStatus);

/** A start time or training time proves capacity. `Starting` does not: Spot jobs wait in it. */
export const hasStarted = (job: TrainingJobDescription): boolean =>
  job.TrainingStartTime !== undefined || (job.TrainingTimeInSeconds ?? 0) > 0;

/** Each reclaim by managed Spot leaves one `Interrupted` transition; the job keeps its name and starts again. */
export const interruptionsOf = (job: TrainingJobDescription): number =>
  job.SecondaryStatusTransitions.filter(({ Status }) => Status === 'Interrupted').length;

/** What goes on between the hosts and the script, since when: an image and its packages may take minutes. */
export function preparationOf({
  TrainingJobStatus,
  SecondaryStatus,
  SecondaryStatusTransitions: all,
}: TrainingJobDescription): { readonly since: string; readonly text: string } | undefined {
  const last = all.at(-1);
  if (TrainingJobStatus !== 'InProgress' || last === undefined || !BEFORE_SCRIPT.test(SecondaryStatus))
    return undefined;
  return { since: last.StartTime.toISOString(), text: last.StatusMessage || SecondaryStatus };
}

const BEFORE_SCRIPT = /^(Downloading|Preparing)/;

/**
 * Of the last start, by SageMaker's transitions; hosts on EC2 tell no image.
 * @returns undefined before the script starts
 */
export function startUpOf({ SecondaryStatusTransitions: all }: TrainingJobDescription): StartUp | undefined {
  const training = all.findLastIndex(({ Status }) => Status === 'Training');
  const again = all.slice(0, Math.max(0, training)).findLastIndex(({ Status }) => BEGUN_AGAIN.has(Status));
  if (training === -1) return undefined;
  const start = all.slice(again + 1, training);
  const secondsOf = (is: (each: StatusTransition) => boolean): number =>
    start.reduce((sum, each, index) => {
      const end = each.EndTime ?? start[index + 1]?.StartTime ?? all[training]?.StartTime ?? each.StartTime;
      return is(each) ? sum + Math.max(0, end.getTime() - each.StartTime.getTime()) / 1_000 : sum;
    }, 0);
  const isImage = ({ Status, StatusMessage }: StatusTransition): boolean =>
    Status === 'DownloadingTrainingImage' || (Status === 'Downloading' && /image/i.test(StatusMessage ?? ''));
  return {
    hosts: secondsOf(({ Status }) => !Status.startsWith('Downloading')),
    download: secondsOf((each) => each.Status === 'Downloading' && !isImage(each)),
    image: secondsOf(isImage),
  };
}

/** What comes before a job's next start in place. */
const BEGUN_AGAIN: ReadonlySet<string> = new Set(['Training', 'Interrupted', 'Restarting']);
