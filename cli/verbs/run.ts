/** `tidewheel run`: starts the run of the open batch, as declared, with changes, or as an earlier run. */

import { randomUUID } from 'node:crypto';
import { readStored } from '@tidewheel/declaration/read.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import type { BodyOf } from '../../client/operations.ts';
import { type Api, ApiError } from '../command/api-calls.ts';
import type { Context } from '../command/context.ts';
import { overridesOf, SET_ABOUT, setOption, unseenText } from '../command/overrides.ts';
import { noSuchPipeline, pipelineMeant, runMeant } from '../command/run-list.ts';
import { defineVerb, flag, option } from '../command/verb.ts';
import { watchRun } from '../watch/watch-run.ts';

export const verb = defineVerb({
  name: 'run',
  summary: 'start a run now: on the data that waits, or on what is there; also with other settings',
  about: `
The run trains even if nothing new arrived. If the open batch has a run already, that one is named. With --set or
--again, this run alone differs: the next one trains as the pipeline declares.
${SET_ABOUT}
--again RUN trains as that run did: its settings, data and source, with what --set changes.`,
  positionals: ['PIPELINE?'],
  options: {
    again: option('RUN', 'as this run did', z.string().optional()),
    set: setOption,
    'current-source': flag('with --again: train with the source as it is now'),
    watch: flag('show it until it ends; its result is the exit code', 'w'),
  },
  examples: [
    ['', 'of the pipeline that tidewheel.yaml in this folder declares'],
    ['digits --watch', 'and show it until it ends'],
    [
      'digits --set lr=1e-4 --set dataset.pin=digits-000003',
      'with another learning rate, on an earlier version of the data',
    ],
    ["--again digits-000041 --set 'compute.instanceTypes=[g6.xlarge]'", 'as that run, on other machines'],
  ],
  run: async ({ values, positionals }, context) => {
    const api = await context.api();
    const again = values.again === undefined ? undefined : await runMeant(context, values.again);
    const pipeline = await pipelineOf(context, positionals[0], again);
    if (again === undefined && values['current-source'])
      throw new UsageError([
        '--current-source goes with --again: every other run has the source as it is now',
      ]);
    const body: BodyOf<'startRun'> = {
      ...overridesOf(values.set),
      ...(again !== undefined && { again, source: values['current-source'] ? 'current' : 'pinned' }),
      // The client repeats a call that got no answer.
      clientToken: randomUUID(),
    };
    const started = await start(api, pipeline, body);
    if (values.set.length > 0) {
      const training = await trainingOf(api, { pipeline, again });
      const remark = training && unseenText(training, values.set);
      if (remark !== undefined) context.terminal.note(remark);
    }
    if (values.watch) return watchRun(context, started.runId, { exitStatus: true });
    return context.answer(started, () => `${started.runId} is open: tidewheel watch ${started.runId}`);
  },
});

async function pipelineOf(
  context: Context,
  given: string | undefined,
  again: string | undefined,
): Promise<string> {
  if (again === undefined) return pipelineMeant(context, given);
  const pipeline = again.replace(/-\d+$/, '');
  if (given === undefined || given === pipeline) return pipeline;
  throw new UsageError([`--again names a run of ${pipeline}: leave PIPELINE out, or name a run of ${given}`]);
}

/** As the run has it before its changes. */
async function trainingOf(
  api: Api,
  { pipeline, again }: { readonly pipeline: string; readonly again: string | undefined },
) {
  if (again !== undefined) return (await api.call('getRun', { runId: again })).run.declaration?.training;
  const stored = await api.call('getPipeline', { name: pipeline });
  const read = readStored(pipeline, stored.declaration);
  return read.valid ? read.pipeline.training : undefined;
}

const start = (api: Api, pipeline: string, body: BodyOf<'startRun'>) =>
  api.call('startRun', { name: pipeline, body }).catch(async (error: unknown) => {
    throw error instanceof ApiError && error.status === 404 ? await noSuchPipeline(api, pipeline) : error;
  });
