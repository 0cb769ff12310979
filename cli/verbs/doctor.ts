/** `tidewheel doctor`: what holds a training back. It changes a declaration only if asked. */

import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { readDeclaration, readStored } from '@tidewheel/declaration/read.ts';
import { diagnose, type Evidence, readEvidence } from '@tidewheel/doctor/diagnose.ts';
import {
  type DeclaredField,
  declaredFields,
  editDeclaration,
  formatVerdicts,
  isDeclared,
  type Verdict,
} from '@tidewheel/doctor/verdict.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf, problemsText } from '@tidewheel/kit/errors.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { openObjectStore } from '../../functions/aws/s3/open-store.ts';
import { dynamo } from '../../functions/aws/shared/clients.ts';
import { evidenceOfAttempt, runsPerMonth } from '../../functions/run/attempts/doctor/attempt-evidence.ts';
import type { Context } from '../command/context.ts';
import { DECLARATION_FILE, runMeant } from '../command/run-list.ts';
import { defineVerb, flag, option } from '../command/verb.ts';

export const verb = defineVerb({
  name: 'doctor',
  summary: 'say what holds a training back, what to change, and what that brings',
  about: `
Reads what the agents measured: a verdict needs a minute of steps. --apply takes the first remedy that is a change of
the declaration, and writes tidewheel.yaml of this folder where that declares the pipeline, else the declaration that
the deployment has. docs/doctor.md describes causes, forecasts and the file of --evidence.`,
  positionals: ['RUN?'],
  options: {
    attempt: option('N', 'of one attempt; default: the last that was measured', wholeNumber(1).optional()),
    apply: flag('write the changed declaration'),
    evidence: option(
      'FILE',
      'of a JSON file in place of a run',
      z.string().min(1, 'name the file: --evidence FILE').optional(),
    ),
  },
  check: (positionals, values) => {
    if (values?.evidence === undefined) return [];
    const fault = '--evidence has measurements of its own';
    return [
      ...(positionals.length > 0 ? [`${fault}: leave RUN out`] : []),
      ...(values.apply ? [`${fault}, and names no pipeline: leave --apply out`] : []),
    ];
  },
  examples: [
    ['digits-000042', 'of the last attempt'],
    ['digits-000042 --apply', 'and change the declaration'],
    ['--evidence measured.json --json', 'of a file'],
  ],
  web: async ({ values, positionals }, context) => {
    const problems = [
      ...(values.evidence === undefined ? [] : ['--evidence is of no run that the page could show']),
      ...(values.apply ? ['--apply writes a declaration, and the page shows one run'] : []),
    ].map((problem) => `${problem}: leave --web out`);
    if (problems.length > 0) throw new UsageError(problems);
    return `/runs/${await runMeant(context, positionals[0])}`;
  },
  run: async ({ values, positionals }, context) => {
    if (values.evidence !== undefined) return show(context, undefined, evidenceIn(values.evidence));
    const [named] = positionals;
    const isExact = named !== undefined && parseRunId(named) !== undefined;
    const runId = isExact ? named : await runMeant(context, named);
    const { table, bucket } = await context.deployment();
    const stores = dynamoStores(dynamo(), table);
    const store = openObjectStore({ bucket });
    const run = await stores.runs.get(runId);
    if (run === undefined) throw new UsageError([`there is no run "${runId}": tidewheel runs lists them`]);
    const attempts = await stores.attempts.list(runId);
    const wanted = attempts.filter(({ attempt }) => (values.attempt ?? attempt) === attempt).toReversed();
    if (wanted.length === 0 && values.attempt !== undefined)
      throw new UsageError([`${runId} has no attempt ${values.attempt}: it has ${attempts.length}`]);
    for (const attempt of wanted) {
      const { startUp } = attempt.outcome ?? {};
      const evidence = await evidenceOfAttempt(store, {
        run,
        attempt,
        startUp,
        leastSeconds: 0,
        runsPerMonth: await runsPerMonth(stores, run),
      });
      if (evidence === undefined) continue;
      const verdicts = show(context, `${runId}, attempt ${attempt.attempt}`, evidence);
      if (values.apply) await apply(context, run.pipeline, diagnose(evidence));
      return verdicts;
    }
    context.terminal.problem(
      `nothing was measured of ${runId} yet: a verdict needs a minute of steps, and tuning.training.instrument must not be false`,
    );
    return 1;
  },
});

function evidenceIn(file: string): Evidence {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`--evidence ${file} cannot be read as JSON: ${messageOf(cause)}`, { cause });
  }
  const read = readEvidence(value);
  if (read.kind === 'problems') throw new Error(`--evidence ${file}:\n${read.problems.join('\n')}`);
  return read.evidence;
}

function show({ answer }: Context, title: string | undefined, evidence: Evidence): number {
  const verdicts = diagnose(evidence);
  const head = title === undefined ? '' : `${title}\n`;
  return answer(verdicts, () => `${head}${formatVerdicts(evidence, verdicts)}`);
}

async function apply(context: Context, pipeline: string, verdicts: readonly Verdict[]): Promise<void> {
  const file = path.join(context.folder, DECLARATION_FILE);
  const here = await readFile(file, 'utf8').catch(() => undefined);
  const read = here === undefined ? undefined : readDeclaration(pipeline, here);
  if (here !== undefined && read?.valid === true) {
    const fields = firstDeclared(verdicts, read.pipeline);
    await writeFile(file, changed(pipeline, here, fields));
    return context.terminal.note(
      `${DECLARATION_FILE} is changed (${said(fields)}): declare it with tidewheel apply`,
    );
  }
  const api = await context.api();
  const { declaration } = await api.call('getPipeline', { name: pipeline });
  const stored = readStored(pipeline, declaration);
  const fields = firstDeclared(verdicts, stored.valid ? stored.pipeline : undefined);
  await api.call('putPipeline', { name: pipeline, body: { yaml: changed(pipeline, declaration, fields) } });
  context.terminal.note(`the declaration of ${pipeline} is changed for the next run: ${said(fields)}`);
}

/** @throws Error where no remedy is one of the declaration */
function firstDeclared(
  verdicts: readonly Verdict[],
  declaration: Pipeline | undefined,
): readonly DeclaredField[] {
  const fields = verdicts
    .flatMap(({ remedy }) => remedy?.change ?? [])
    .filter((change) => declaration === undefined || !isDeclared(change, declaration))
    .map((change) => declaredFields(change, declaration))
    .find((each) => each !== undefined);
  if (fields === undefined)
    throw new Error(
      'no remedy is a change of the declaration that is still to be made: nothing was written; change the script as said above',
    );
  return fields;
}

const said = (fields: readonly DeclaredField[]): string =>
  fields.map(({ path: names, value }) => `${names.join('.')}: ${JSON.stringify(value)}`).join(', ');

/** @throws Error where another field of the declaration speaks against it */
function changed(pipeline: string, text: string, fields: readonly DeclaredField[]): string {
  const edited = editDeclaration(text, fields);
  const read = readDeclaration(pipeline, edited);
  if (read.valid) return edited;
  throw new Error(
    `${said(fields)} does not go with the declaration, and nothing was written: ${problemsText(read.problems)}`,
  );
}
