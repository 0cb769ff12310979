/** The models on record: which one is in use, and what people decide. */
import { parseRunId } from '@tidewheel/contract/bucket-keys.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { bytesText, judgedText, scoreText, signedText } from '../../client/amounts.ts';
import type { AnswerOf, BodyOf } from '../../client/operations.ts';
import type { Context } from '../command/context.ts';
import { momentText, safe } from '../command/format.ts';
import { pipelineMeant, runMeant } from '../command/run-list.ts';

type Models = AnswerOf<'getModels'>;
type Model = Models['models'][number];
type JudgedPart = NonNullable<NonNullable<Model['judged']>['fresh']>;

/** @param given a run, or a pipeline: its model in use */
export async function modelsMeant(context: Context, given: string | undefined) {
  const of = given === undefined ? undefined : parseRunId(given);
  const runId = of === undefined ? undefined : await runMeant(context, given);
  const name = of?.pipeline ?? (await pipelineMeant(context, given));
  const models = await (await context.api()).call('getModels', { name });
  return { name, runId: runId ?? models.current?.runId, models };
}

export async function currentRun(context: Context, name: string): Promise<string | undefined> {
  return (await (await context.api()).call('getModels', { name })).current?.runId;
}

export async function showModel(context: Context, given: string | undefined): Promise<number> {
  const { name, runId, models } = await modelsMeant(context, given);
  if (runId === undefined)
    throw new UsageError([`no model of ${name} is in use: tidewheel model promote RUN`]);
  const { run } = await (await context.api()).call('getRun', { runId });
  const model = models.models.find((each) => each.runId === runId);
  const { startedFrom, modelUri, generations } = run;
  return context.answer({ runId, modelUri, startedFrom, generations, model }, () =>
    [
      `${runId}: ${model?.state ?? 'not on record'}`,
      ...(model === undefined ? [] : decided(model)),
      `archive   ${model?.uri ?? modelUri ?? 'none'}`,
      `began     ${startedFrom === undefined ? 'from nothing' : `from ${startedFrom.runId ?? startedFrom.uri}`}`,
    ].join('\n'),
  );
}

const decided = ({ at, by, reason, judged, digest, bytes = 0 }: Model): string[] => [
  `since     ${momentText(new Date(at), new Date())}, by ${safe(by)}: ${safe(reason)}`,
  ...(judged === undefined ? [] : judgedLines(judged)),
  `size      ${bytesText(bytes)}`,
  ...(digest === undefined ? [] : [`SHA-256   ${digest}`]),
];

export function judgedLines(judged: NonNullable<Model['judged']>): string[] {
  const { against, earlier, fresh } = judged;
  const parts = [
    ['earlier', earlier],
    ['new', fresh],
  ] as const;
  return [
    `scores    ${safe(judgedText(judged))}`,
    ...parts.flatMap(([name, part]) => (part === undefined ? [] : [`  ${name.padEnd(8)}${partText(part)}`])),
    ...(against === undefined
      ? []
      : ['  how many changed sides, each class, the ten worst by key: judgement.json of the run']),
  ];
}

const partText = ({ samples, mean, better, interval }: JudgedPart): string =>
  `${samples.toLocaleString('en')} samples: ${scoreText(mean)}${better === undefined ? '' : `, ${signedText(better, interval)}`}`;

/** @param given a run; of a roll-back, a pipeline */
export async function decide(
  context: Context,
  decision: BodyOf<'chooseModel'>['decision'],
  { given, reason }: { readonly given: string | undefined; readonly reason: string },
): Promise<number> {
  if (decision !== 'rollback' && (given === undefined || parseRunId(given) === undefined))
    throw new UsageError([`name the run whose model you ${decision}: tidewheel model ${decision} RUN`]);
  const { name, runId } = await modelsMeant(context, given);
  if (runId === undefined)
    throw new UsageError([`no model of ${name} is in use: there is nothing to go back from`]);
  const answer = await (await context.api()).call('chooseModel', {
    name,
    body: { decision, runId, reason },
  });
  return context.answer(answer, () => {
    const { changed, current } = answer;
    const inUse = current === undefined ? `no model of ${name}` : `the model of ${current.runId}`;
    return `${changed ? '' : 'it was so already: '}${inUse} is in use`;
  });
}
