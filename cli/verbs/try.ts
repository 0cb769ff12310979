/** `tidewheel try`: what interruptions would do to a script, seen on this machine before any money is spent. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { entryPointOf } from '@tidewheel/declaration/pipeline.ts';
import { makeAddressBook } from '@tidewheel/emulators/sagemaker/hosts/addresses.ts';
import { canShowOptMl, NOT_SHOWN } from '@tidewheel/emulators/sagemaker/hosts/opt-ml.ts';
import { printable } from '@tidewheel/kit/command-line.ts';
import { socketProblem } from '@tidewheel/kit/temporary-folder.ts';
import * as z from 'zod';
import { writeAgent } from '../../functions/aws/lambda/agent.ts';
import { defineVerb, option, type ValuesOf } from '../command/verb.ts';
import { tryCost } from '../try/cost.ts';
import { isFile, isFolder, readTraining, shardsIn } from '../try/declared.ts';
import type { Trial } from '../try/host.ts';
import { type Phase, playPhase } from '../try/phase.ts';
import { reportOf } from '../try/report.ts';
import { findingOf } from '../try/try-verdict.ts';
import { speaksOfNoTorch } from '../try/without-torch.ts';
import { proposedFor } from './init.ts';

const ABOVE_0 = 'write a number above 0';
const seconds = (usual: string) =>
  z.coerce.number(ABOVE_0).positive(ABOVE_0).max(3_600, 'at most 3600').default(Number(usual));
/** Typed paths are relative to where npm was called. */
const CALLED_FROM = process.env['INIT_CWD'] ?? process.cwd();
const typed = (path: string): string => resolve(CALLED_FROM, path);

/** @param form such as `NAME=VALUE` */
const pair = (form: string) => z.string().regex(/^[A-Za-z_][\w.-]*=/, `write ${form}`);
const splitPair = (text: string): readonly [string, string] => [
  text.slice(0, text.indexOf('=')),
  text.slice(text.indexOf('=') + 1),
];

const options = {
  entry: option(
    'FILE',
    'the script, in FOLDER; default: as declared, or as tidewheel init would declare it',
    z.string().optional(),
  ),
  argument: option(
    'WORD',
    'an argument as you would type it, again for each: --argument=--epochs=50',
    z.array(z.string()).optional(),
  ),
  env: option(
    'NAME=VALUE',
    'a variable for the script, again for each',
    z
      .array(pair('NAME=VALUE'))
      .default([])
      .transform((given) => Object.fromEntries(given.map(splitPair))),
  ),
  channel: option(
    'NAME=PATH',
    'data that it reads as channel NAME, again for each: --channel train=data',
    z
      .array(
        pair('NAME=PATH').transform((text, context) => {
          const [name, path] = splitPair(text);
          if (!isFolder(typed(path))) context.addIssue(`there is no folder ${typed(path)}`);
          return [name, typed(path)] as const;
        }),
      )
      .default([])
      .transform((given) => Object.fromEntries(given)),
  ),
  declaration: option(
    'FILE',
    'default tidewheel.yaml or pipeline.yaml in FOLDER, or what tidewheel init would write',
    z.string().transform(typed).refine(isFile, 'there is no such file').optional(),
  ),
  seconds: option('N', 'at most, for each of the three starts (default 20)', seconds('20')),
  grace: option('N', "from the warning to the kill (default 20; SageMaker's is 120)", seconds('20')),
  'instance-type': option(
    'TYPE',
    'whose price is shown; default as declared, or g5.xlarge',
    z.string().optional(),
  ),
  region: option(
    'NAME',
    'of that price (default us-east-1)',
    z
      .string()
      .regex(/^[a-z]{2,}(-[a-z]+)+-\d+$/, 'write the name of a region, such as us-east-1')
      .default('us-east-1'),
  ),
  log: option('FILE', 'keeps all that was printed', z.string().optional()),
};

type Values = ValuesOf<typeof options>;

export const verb = defineVerb({
  name: 'try',
  summary: 'show on this machine what interruptions would do to a script',
  about: `
Runs the training script of FOLDER with the agent that every job gets: starts it, warns it, resumes it, kills it,
resumes it. Says what was recognised, saved, restored and lost, what it would cost on Spot, and the line of the
declaration to change. FOLDER is copied for each start; requirements.txt is installed once, apart from this project.
Exit code: 0 ready for Spot, 1 not (the verdict says why).`,
  deployment: 'none',
  positionals: ['FOLDER'],
  options,
  check: ([folder]: readonly string[]) =>
    folder === undefined || isFolder(typed(folder)) ? [] : [`FOLDER is "${folder}": there is no such folder`],
  examples: [
    ['my-training', 'as it is'],
    ['my-training --channel train=data --argument=--epochs=50', 'with data and arguments'],
  ],
  run: ({ values, positionals }, { json, clone }) => {
    if (clone === undefined)
      throw new Error(
        'tidewheel try needs the agent of a clone of the project: run it there (node cli/tidewheel.mjs try)',
      );
    return tryScript(typed(positionals[0] ?? ''), { ...values, json, clone });
  },
});

const say = (text: string): void => void process.stdout.write(`${printable(text)}\n`);

async function tryScript(
  folder: string,
  { clone, ...values }: Values & { readonly json: boolean; readonly clone: string },
): Promise<number> {
  const {
    source,
    dependencies,
    training,
    channels,
    instanceType = 'g5.xlarge',
    isProposed,
  } = await readTraining({
    folder,
    declaration: values.declaration,
    entryPoint: values.entry,
    arguments: values.argument,
    environment: values.env,
    channels: values.channel,
    propose: (at, script) => proposedFor(at, script, { environment: process.env, clone }),
  });
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => stopping.abort(new Error('stopped')));
  const onStep = values.json ? () => undefined : say;
  if (isProposed)
    onStep(`  without a declaration: started as tidewheel init would declare it (${training.strategy})`);
  for (const [name, path] of Object.entries(channels))
    onStep(
      `  channel ${name}: ${path}${name === shardsIn(training.channels) ? ', as it is; in a run: packed' : ''}`,
    );
  const pythonPath = process.env['TIDEWHEEL_PYTHON'] ?? join(clone, '.venv/bin/python');
  if (!(await canShowOptMl(pythonPath, source))) onStep(`  ${NOT_SHOWN}`);
  const work = await workFolder();
  try {
    const trial: Trial = {
      folder: source,
      dependencies,
      training,
      channels,
      work,
      agentFile: join(work, 'agent.pyz'),
      pythonPath,
      environmentsDirectory: join(clone, '.tidewheel/environments'),
      graceSeconds: values.grace,
      masterPort: await makeAddressBook(Math.random).takePorts(),
    };
    await writeAgent(clone, trial.agentFile);
    const phases = await playPhases(trial, values.seconds, stopping.signal, onStep);
    if (values.log !== undefined) await writeFile(typed(values.log), logOf(phases));
    const isWithoutTorch = await speaksOfNoTorch(source);
    return tell(phases, trial, isWithoutTorch, {
      ...values,
      instanceType: values['instance-type'] ?? instanceType,
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function tell(
  phases: readonly Phase[],
  { training }: Trial,
  isWithoutTorch: boolean,
  { instanceType, region, json }: { instanceType: string; region: string; json: boolean },
): number {
  const finding = findingOf(phases, {
    namesFiles: typeof training.checkpoint === 'object' && training.checkpoint.pattern !== undefined,
    isWithoutTorch,
  });
  const cost = tryCost(instanceType, region, phases[0]);
  const program = entryPointOf(training) ?? 'the command';
  if (json) say(JSON.stringify({ ...finding, cost, phases: phases.map(withoutLines) }, undefined, 2));
  else for (const line of ['', ...reportOf(program, phases, finding, cost)]) say(line);
  return finding.verdict === 'ready' ? 0 : 1;
}

/** Warned, resumed and killed, resumed again; what saves nothing is not resumed. */
async function playPhases(
  trial: Trial,
  limitSeconds: number,
  signal: AbortSignal,
  onStep: (text: string) => void,
): Promise<readonly Phase[]> {
  const phases: Phase[] = [];
  const plans = [
    { name: 'start', strike: 'warn', says: 'starting it, then the warning' },
    { name: 'resumption', strike: 'kill', says: 'resuming it, then kill -9' },
    { name: 'second resumption', strike: 'kill', says: 'resuming it again' },
  ] as const;
  for (const { name, strike, says } of plans) {
    onStep(`  ${says} …`);
    const earlier = phases.at(-1)?.checkpoints;
    const onwardSeconds = Math.min(2, limitSeconds / 10);
    const phase = await playPhase(trial, {
      name,
      strike,
      seconds: limitSeconds,
      onwardSeconds,
      earlier,
      signal,
    });
    phases.push(phase);
    if (phase.after === undefined || phase.endedBy === 'itself') break;
  }
  return phases;
}

/** Below /tmp where TMPDIR is too long for the sockets of data loaders. */
async function workFolder(): Promise<string> {
  const place = [tmpdir(), '/tmp'].find(
    (each) => socketProblem(`${each}/tw-try-000000/host/tmp`) === undefined,
  );
  return mkdtemp(join(place ?? tmpdir(), 'tw-try-'));
}

const logOf = (phases: readonly Phase[]): string =>
  phases.map(({ name, lines }) => `=== ${name}\n${lines.join('\n')}\n`).join('\n');

const withoutLines = ({ lines: _lines, checkpoints: _checkpoints, ...phase }: Phase) => phase;
