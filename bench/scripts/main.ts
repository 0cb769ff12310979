/** npm run bench:scripts: training scripts of others under the agent, killed at drawn moments. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import * as z from 'zod';
import type { Trial } from '../../cli/try/host.ts';
import { writeAgent } from '../../functions/aws/lambda/agent.ts';
import { inWorkFolder } from '../work-folder.ts';
import { type CampaignOptions, playCampaign, type Trials, unprepared } from './campaign.ts';
import { CATALOGUE } from './catalogue.ts';
import { environmentOf } from './environment.ts';
import { type Outcome, summaryOf, tableOf, verdictOf } from './outcome.ts';
import { requirementsOf, type Script } from './own-script.ts';
import { benchResumes, RESUME_REQUIREMENTS } from './resumed.ts';
import { layOutSource, type Source } from './source.ts';

const root = join(import.meta.dirname, '../..');
/** Packages and source archives, kept between campaigns. */
const CACHE = join(root, '.tidewheel/scripts');
const NAMES = CATALOGUE.map(({ name }) => name);

const USAGE = `npm run bench:scripts -- [OPTIONS]

Runs training scripts that know nothing of Tidewheel, as their packages ship them, with the agent that every job gets.
Each is trained twice undisturbed; then its host is killed at drawn moments, and it resumes on another. Prints what the
agent recognised, what was restored and lost, and whether the weights equal the undisturbed ones to the bit. Equal
weights count only where a start restored a checkpoint. Source archives and packages come from the package index of
pip, into .tidewheel. Exits with 1 if weights differ.

  --only NAMES     some of the names below, as a,b; default all
  --kills N        for each script; default 10
  --seed S         of the moments; default 1
  --json FILE      writes all outcomes to a file
  --resume N       instead: twelve loops that resume at nine tenths of an epoch, each started N times from its beginning
                   and from its checkpoint. Exits with 1 if batches differ, or if fewer than nine step as soon as a
                   fresh start
  --help

${NAMES.map((name) => `  ${name}`).join('\n')}
`;

const schema = z.object({
  only: z
    .string()
    .transform((text) => text.split(','))
    .refine((names) => names.every((name) => NAMES.includes(name)), `give some of ${NAMES.join(', ')}`)
    .prefault(NAMES.join(',')),
  kills: wholeNumber(0).default(10),
  seed: wholeNumber(0).default(1),
  json: z.string().optional(),
  resume: wholeNumber(1).optional(),
});

/** An hour's interval would be longer than these trainings, which take some seconds. */
const CHECKPOINT_SECONDS = 0.25;
const PORT = 29_411;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, { schema });
  if (values.resume !== undefined) return resumed(values.resume);
  const outcomes: Outcome[] = [];
  await inWorkFolder('scripts', async (work, signal) => {
    const agentFile = join(work, 'agent.pyz');
    await writeAgent(root, agentFile);
    await mkdir(CACHE, { recursive: true });
    for (const script of CATALOGUE.filter(({ name }) => values.only.includes(name))) {
      say(script.name);
      const random = seededUniform(`${values.seed} ${script.name}`);
      const options = { kills: values.kills, random, signal, onStep: say };
      const outcome = await tried(script, work, agentFile, options).catch((error: unknown) => {
        signal.throwIfAborted();
        return unprepared(script, messageOf(error));
      });
      outcomes.push(outcome);
      if (values.json !== undefined) await writeJson(values.json, outcomes);
    }
  });
  say(`\n${tableOf(outcomes)}\n\n${summaryOf(outcomes)}`);
  return outcomes.some((outcome) => verdictOf(outcome) === 'not equal') ? 1 : 0;
}

async function resumed(starts: number): Promise<number> {
  let isWell = false;
  await inWorkFolder('scripts', async (work, signal) => {
    await mkdir(CACHE, { recursive: true });
    const python = await environmentOf(RESUME_REQUIREMENTS, ownPython(), CACHE);
    isWell = await benchResumes({ root, work, python, starts, signal, say });
  });
  return isWell ? 0 : 1;
}

const ownPython = (): string => process.env['TIDEWHEEL_PYTHON'] ?? join(root, '.venv/bin/python');

/** Relative to where a person called npm. */
const writeJson = (path: string, content: unknown): Promise<void> =>
  writeFile(resolve(process.env['INIT_CWD'] ?? process.cwd(), path), `${JSON.stringify(content, null, 2)}\n`);

async function tried(
  script: Script,
  work: string,
  agentFile: string,
  options: CampaignOptions,
): Promise<Outcome> {
  const pythonPath = ownPython();
  const source = await layOutSource(script, pythonPath, CACHE, join(work, 'source', script.name));
  const trials = trialsOf(script, source, {
    work,
    agentFile,
    pythonPath: await environmentOf(requirementsOf(script), pythonPath, CACHE),
    channels: {},
    environmentsDirectory: join(root, '.tidewheel/environments'),
    graceSeconds: 20,
    masterPort: PORT,
    environment: {
      PYTHONPATH: join(import.meta.dirname, 'observe'),
      // Threads that wait for each other on busy cores take most of the time.
      TIDEWHEEL_CPUS: '1',
      TIDEWHEEL_AUTOMATIC_TRIAL_SECONDS: '1',
      // These trainings end before the trial's verdict. A verdict against the script counts once it is there.
      TIDEWHEEL_AUTOMATIC_VERDICT_SECONDS: '0',
      MPLBACKEND: 'Agg',
    },
  });
  return playCampaign(script, trials, options);
}

function trialsOf(script: Script, source: Source, machine: Omit<Trial, 'folder' | 'training'>): Trials {
  const declared = trainingSchema.parse({
    strategy: 'single',
    entryPoint: source.entry,
    arguments: script.arguments,
    environment: script.environment,
    workingDirectory: script.within,
    checkpoint: script.checkpoint,
  });
  const hyperparameters = { tidewheel_checkpoint_seconds: CHECKPOINT_SECONDS };
  const { checkpoint: _checkpoint, ...plain } = declared;
  const folder = source.folder;
  return {
    plain: { ...machine, folder, training: plain },
    declared: { ...machine, folder, training: { ...declared, hyperparameters } },
  };
}

await runCommand(USAGE, main);
