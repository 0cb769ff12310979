/** `tidewheel plan`: what a run would do, cost and miss. Starts nothing. */

import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { bytesText, lateTexts, usdText } from '../../client/amounts.ts';
import type { AnswerOf, BodyOf } from '../../client/operations.ts';
import { ApiError } from '../command/api-calls.ts';
import { declarationAt } from '../command/declared.ts';
import { EXIT } from '../command/exit.ts';
import { counted, countText, momentText, safe } from '../command/format.ts';
import { overridesOf, setOption } from '../command/overrides.ts';
import { noSuchPipeline } from '../command/run-list.ts';
import { defineVerb, flag, option } from '../command/verb.ts';
import { formatFindings } from '../deployment/format-findings.ts';
import { formatDecision } from '../show/decision-text.ts';
import { dataFilesBelow } from '../upload/local-files.ts';

const SIZE = 'write a number above 0';
const OR_STORED = 'name a declaration, or with --pipeline NAME a stored one';

export const verb = defineVerb({
  name: 'plan',
  summary: 'say what a run would do, cost and miss, and start nothing',
  about: `
For the declaration of this folder (or FILE, or its folder), or a stored one, and the data in incoming/ (or --data, or
--files with --gigabytes): shards, pool, cost and finish as 90 % intervals, and what of the account would stand in the
way. --set changes a part of the declaration for this plan. The exit code is 1 if nothing could train.`,
  positionals: ['FILE?'],
  options: {
    pipeline: option('NAME', 'the stored declaration of this pipeline', z.string().min(1).optional()),
    data: option(
      'DIR',
      'the files of this folder, in place of those that are there',
      z.string().min(1, 'name a folder').optional(),
    ),
    files: option('N', 'new files, in place of those that are there', wholeNumber(1).optional()),
    gigabytes: option('GB', 'what they hold together', z.coerce.number(SIZE).positive(SIZE).optional()),
    set: setOption,
    pools: flag('show every pool that was weighed'),
  },
  check: ([file], values) => [
    ...((values?.files === undefined) === (values?.gigabytes === undefined)
      ? []
      : ['--files and --gigabytes belong together: give both, or neither']),
    ...(values?.data !== undefined && values.files !== undefined
      ? ['--data and --files both say how much there is: give one']
      : []),
    ...(file !== undefined && values?.pipeline !== undefined
      ? ['FILE and --pipeline name two declarations: give one']
      : []),
  ],
  examples: [
    ['', 'tidewheel.yaml of this folder, with the data that is there'],
    ['--data images', 'before a folder is dropped'],
    ['--files 1000000 --gigabytes 110 --set deadline=12', 'before any of it is uploaded'],
  ],
  run: async ({ values, positionals: [file] }, context) => {
    const { pipeline: stored, set } = values;
    const local = stored === undefined ? await declarationAt(context.folder, file, OR_STORED) : undefined;
    const api = await context.api();
    const body = {
      pipeline: local?.name ?? stored ?? '',
      declaration: local?.text,
      change: set.length === 0 ? undefined : overridesOf(set),
      data: await dataOf(context.folder, values),
    };
    const plan = await api.call('planRun', { body }).catch(async (error: unknown) => {
      throw error instanceof ApiError && error.status === 404
        ? await noSuchPipeline(api, body.pipeline)
        : error;
    });
    context.answer(plan, () => textOf(plan, values.pools));
    return canTrain(plan) ? EXIT.ok : EXIT.error;
  },
});

interface Data {
  readonly data?: string | undefined;
  readonly files?: number | undefined;
  readonly gigabytes?: number | undefined;
}

/** @throws UsageError for a folder without files */
async function dataOf(folder: string, { data, files, gigabytes }: Data): Promise<BodyOf<'planRun'>['data']> {
  if (files !== undefined && gigabytes !== undefined) return { files, bytes: Math.round(gigabytes * 1e9) };
  if (data === undefined) return undefined;
  const found = await dataFilesBelow(path.resolve(folder, data)).catch((cause: unknown) => {
    throw new UsageError([`--data is "${data}", which cannot be read (${messageOf(cause)}): name a folder`]);
  });
  const bytes = found.files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > 0) return { files: found.files.length, bytes };
  throw new UsageError([`--data is "${data}", which holds no data: name a folder of files`]);
}

const canTrain = ({ decision, findings }: AnswerOf<'planRun'>): boolean =>
  decision !== undefined && decision.kind !== 'giveUp' && findings.every(({ kind }) => kind !== 'fails');

function textOf(plan: AnswerOf<'planRun'>, pools: boolean): string {
  const { runId, asOf, decision, findings, notes } = plan;
  const troubles = findings.filter(({ kind }) => kind !== 'passed');
  return [
    `${runId}, if it began now`,
    ...dataLines(plan),
    ...(decision === undefined ? [] : [placeLine(decision)]),
    ...trainingLines(plan),
    ...(pools && decision !== undefined ? ['', formatDecision(decision, asOf)] : []),
    ...notes.map((note) => `- ${safe(note)}`),
    '',
    troubles.length === 0
      ? `${findings.length} checks of quotas, roles, networks and images passed`
      : formatFindings(findings),
  ].join('\n');
}

function dataLines({ packing, dataset }: AnswerOf<'planRun'>): readonly string[] {
  const { basis, files, bytes, shards, items, rejected } = packing;
  const { isUnpacked } = dataset;
  const packed = isUnpacked
    ? 'not packed'
    : `${counted(shards, 'shard')}, packed by ${counted(items, 'call')}`;
  const left = rejected === 0 ? '' : `, ${countText(rejected)} rejected by name`;
  return [
    `new data  ${counted(files, 'file')}, ${bytesText(bytes)}${basis === 'given' ? ' (not uploaded)' : ''}${left}: ${packed}`,
    `trains on ${counted(dataset.shards, isUnpacked ? 'file' : 'shard')}, ${bytesText(dataset.bytes)}`,
  ];
}

type Decision = NonNullable<AnswerOf<'planRun'>['decision']>;

function placeLine(decision: Decision): string {
  if (decision.kind !== 'launch') return `place     none now: ${decision.reason}`;
  const { pool, topology } = decision.placement;
  const zone = pool.zoneId === undefined ? '' : ` in ${pool.zoneId}`;
  return `place     ${topology.nodes} x ${pool.instanceType}, ${pool.purchaseOption}${zone}`;
}

/** A chance below is none, in a line. */
const WORTH_SAYING = 0.005;

function trainingLines(plan: AnswerOf<'planRun'>): readonly string[] {
  const { training, deadlineAt, asOf } = plan;
  if (training === undefined) return boundLines(plan);
  const { usd, onDemandUsd, finishAt, lateChance } = training;
  const moment = (at: string): string => momentText(new Date(at), new Date(asOf));
  const late = lateTexts(lateChance, WORTH_SAYING).map((text) => ` (${text})`);
  const deadline = deadlineAt === undefined ? '' : `, deadline ${moment(deadlineAt)}${late.join('')}`;
  return [
    `cost      USD ${usdText(usd.expected)} (${usdText(usd.low)}-${usdText(usd.high)}), On-Demand ${usdText(onDemandUsd)}`,
    `finish    ${moment(finishAt.expected)} (${moment(finishAt.low)} to ${moment(finishAt.high)})${deadline}`,
  ];
}

/** The bounds of cost and end while no run has shown the pace. */
function boundLines({ bounds, deadlineAt, asOf }: AnswerOf<'planRun'>): readonly string[] {
  if (bounds === undefined) return [];
  const deadline =
    deadlineAt === undefined ? '' : `, deadline ${momentText(new Date(deadlineAt), new Date(asOf))}`;
  return [
    `cost      not known, at most USD ${usdText(bounds.mostUsd)}; a probe of some steps: about USD ${usdText(bounds.probeUsd)}`,
    `finish    not known${deadline}`,
  ];
}
