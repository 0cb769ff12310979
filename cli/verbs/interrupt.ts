/** `tidewheel interrupt`: strikes a chosen run of the local region. */
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { controlClient } from '@tidewheel/emulators/region/control-client.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import type { Context } from '../command/context.ts';
import { stateMeant } from '../command/deployment.ts';
import { defineVerb, flag, option } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'interrupt',
  summary: 'reclaim the capacity of a run of the local region, as EC2 does',
  about: `
The warning, then the end after the region's grace (--grace of tidewheel up). Without RUN it lists what has machines
now. RUN is a run's id, the name of its job, or a pipeline for its newest run that has machines.`,
  positionals: ['RUN?'],
  options: {
    kill: flag('no warning: the machines fail at once, as after kill -9'),
    host: option(
      'N',
      'one host, counted from 1 (default: all; SageMaker warns all hosts of a job together)',
      wholeNumber(1).optional(),
    ),
  },
  examples: [
    ['', 'what has machines now'],
    ['digits-000001', 'warn it, then take its machines'],
  ],
  run: async ({ values: { kill, host }, positionals: [run] }, context) => {
    const region = await controlClient(await stateOf(context));
    if (run === undefined) {
      const jobs = await region.running();
      return context.answer({ jobs }, () =>
        jobs.length === 0 ? 'no run has machines now' : jobs.map(jobText).join('\n'),
      );
    }
    const struck = await region.strike({ run: runOf(run, await region.running()), kill, host });
    const what = host === undefined ? 'all hosts' : `host ${host}`;
    return context.answer(
      struck,
      () => `${struck.job}: ${what} ${kill ? 'failed, without a warning' : 'warned; the grace runs'}`,
    );
  },
});

async function stateOf(context: Context): Promise<string> {
  const state = await stateMeant(context, context.place);
  if (state !== undefined && context.place.stage === undefined) return state;
  throw new UsageError([
    'only a local region is interrupted by hand: name the folder of its state with --state',
  ]);
}

type Job = Awaited<ReturnType<Awaited<ReturnType<typeof controlClient>>['running']>>[number];

/** Any other word than a pipeline stays as it was typed. */
export const runOf = (named: string, jobs: readonly Pick<Job, 'run'>[]): string =>
  jobs
    .map(({ run }) => run)
    .filter((run) => parseRunId(run)?.pipeline === named)
    .toSorted()
    .at(-1) ?? named;

const jobText = ({ run, job, launcher, hosts, isSpot }: Job): string =>
  `${run}  ${job}  ${launcher}  ${hosts} host${hosts === 1 ? '' : 's'}  ${isSpot ? 'Spot' : 'On-Demand'}`;
