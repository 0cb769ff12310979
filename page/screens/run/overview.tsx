/** A run's overview: its vital figures, what went wrong, its model, one advice, what happened; at the end the details. */
import * as amounts from '../../../client/amounts.ts';
import { codeText, isFinished, savedProgress, usdSoFar } from '../../../client/run-view.ts';
import { Sparkline } from '../../charts/bars.tsx';
import { save } from '../../charts/figure.tsx';
import { type SeriesView, sparkOf } from '../../model/curve.ts';
import * as format from '../../model/format.ts';
import { type Leading, leadingOf } from '../../model/leading.ts';
import type { ModelView } from '../../model/lineage.ts';
import { Empty, EventRow, Section } from '../../parts/card.tsx';
import { DialogButton, Dismiss, Field, SendButton } from '../../parts/controls.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { Basis, Command, Decided, Facts, LinkButton, Pill, Time } from '../../parts/text.tsx';
import { hrefOf } from '../../state/address.ts';
import { type AnswerOf, ask } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';

const usd = format.dollarText;

type View = AnswerOf<'getRun'>;
type ViewProps = Readonly<{ view: View }>;
type ChangeProps = Readonly<{ view: View; onChange: () => void }>;
type Report = NonNullable<View['report']>;

type AllSeries = readonly SeriesView[] | undefined;

/** Which metric and how good, how far, when done, what it costs. @param series undefined: not read yet */
export function runVitals(view: View, now: number, series: AllSeries, inUse: ModelView | undefined) {
  const note = series ? 'no number yet' : '…';
  const leading = leadingOf(view, series ?? []) ?? { name: 'metric', value: '', note, series: undefined };
  const end = isFinished(view.run) ? ended(view) : doneBy(view, now);
  return [measured(leading, inUse), progressOf(view), end, cost(view, now)];
}

function measured({ name, value, note, series }: Leading, inUse: ModelView | undefined) {
  const { metric, mean } = inUse?.judged ?? {};
  return {
    label: name,
    figure: value,
    beside: metric === name && mean !== undefined && `${format.shortNumber(mean)} in use`,
    below: <Sparkline label={`${name} so far`} values={sparkOf(series)} />,
    note,
  };
}

function progressOf(view: View) {
  const { run, report, attempts } = view;
  const { step = 0, totalSteps = 0, unit = 'step' } = savedProgress(view) ?? {};
  const label = isFinished(run) ? 'Trained' : 'Saved';
  // What the newest attempt does before its script starts.
  const { preparing, outcome } = attempts.at(-1) ?? {};
  const note = report ? interruptionsText(report) : outcome === undefined && preparing?.text;
  if (totalSteps <= 0) return { label, figure: step > 0 ? `${unit} ${step}` : withoutSave(run), note };
  return {
    label,
    figure: format.percentText(step / totalSteps),
    beside: `${step.toLocaleString()} of ${totalSteps.toLocaleString()} ${unit}s`,
    below: <progress value={step} max={totalSteps} aria-label="saved work" />,
    note,
  };
}

/** A script that ends without a checkpoint has trained all the same. */
const withoutSave = ({ status }: View['run']): string => (status === 'succeeded' ? 'to its end' : 'nothing');

const interruptionsText = ({ interruptions, lostSeconds }: Report): string =>
  `${interruptions} interruption${interruptions === 1 ? '' : 's'}${lostSeconds > 0 ? `, ${amounts.durationText(lostSeconds)} lost` : ''}`;

function doneBy({ money: { expected, deadlineAt } }: View, now: number) {
  const label = 'Done by';
  const due = deadlineAt === undefined ? 'no deadline' : `deadline ${format.whenText(deadlineAt)}`;
  if (expected === undefined) return { label, figure: '…', beside: 'not known yet', note: due };
  const { finishAt, basis, lateChance } = expected;
  // An end that was expected before now has not come true.
  const finish = Math.max(now, Date.parse(finishAt.expected));
  const source =
    basis === 'measured' ? 'what this run has measured' : 'earlier runs: nothing is measured yet';
  return {
    label,
    figure: format.whenText(finish),
    beside: <Basis of={`90 % between, from ${source}`}>{format.spanText(finishAt.low, finishAt.high)}</Basis>,
    note: deadlineAt
      ? [format.leftText(deadlineAt, finish), ...amounts.lateTexts(lateChance)].join('; ')
      : due,
  };
}

function ended({ run, report, money }: View) {
  const end = report?.finishedAt ?? run.updatedAt;
  const { at = money.deadlineAt, met } = report?.deadline ?? {};
  // A run that failed may have had time left.
  const isMissed = met === false && Date.parse(at ?? '') >= Date.parse(end);
  const due = at === undefined ? 'no deadline' : format.leftText(at, Date.parse(end));
  const beside = [<>until </>, <Time at={end} />];
  const figure = format.elapsedText(run.createdAt, end);
  return { label: 'Took', figure, beside, note: isMissed ? 'deadline not met' : due };
}

const REPORT_BASIS =
  'billed seconds of all attempts by the price of their pools, and what was copied between regions';
const ON_DEMAND_BASIS = 'what ran, on the same types at On-Demand prices: without the work that Spot lost';

function cost({ money, report }: View, now: number) {
  const { usdPerSecond, asOf, expected, budgetUsd } = money;
  const since = `counted until ${format.whenText(asOf)}, and since then by ${usd(usdPerSecond * 3600)} an hour`;
  const about = expected && (
    <Basis of={`90 % between ${usd(expected.usd.low)} and ${usd(expected.usd.high)}`}>
      {`of about ${usd(expected.usd.expected)}`}
    </Basis>
  );
  const sums = { costUsd: usdSoFar(money, now), onDemandUsd: expected?.onDemandUsd ?? money.onDemandUsd };
  const { costUsd, onDemandUsd } = report ?? sums;
  const basis = report ? REPORT_BASIS : `billed seconds by the price of each pool, ${since}`;
  return {
    label: 'Cost',
    figure: <Basis of={basis}>{usd(costUsd, onDemandUsd)}</Basis>,
    beside: report ? `$${amounts.savedText(report)} saved` : about,
    note: (
      <>
        On-Demand would be <Basis of={ON_DEMAND_BASIS}>{usd(onDemandUsd, costUsd)}</Basis>
        {budgetUsd !== undefined && `; budget ${usd(budgetUsd)}`}
      </>
    ),
  };
}

/** What ended the run, in one line; the traceback is one press away. */
export function Failure({ view: { run }, onChange }: ChangeProps) {
  if (run.failure === undefined) return null;
  const { cause, more } = format.causeOf(run.failure);
  return (
    <ul class="card events" aria-label="failure">
      <EventRow state="failed" bold={cause} more={more}>
        <LinkButton text="Log" to={['runs', run.runId, 'log']} />
        <Dismiss run={run} onDone={onChange} />
      </EventRow>
    </ul>
  );
}

/** The model of an ended run: its state and why, its score, and the two commands that follow as a rule. */
export function Model({ view: { run } }: ViewProps) {
  const { runId, pipeline, modelUri } = run;
  const { body } = useReading('getModel', modelUri ? { runId } : undefined);
  if (modelUri === undefined) return null;
  const { model } = body ?? {};
  const state = model && (
    <span class="row">
      <Pill status={model.state} />
      {model.judged && <strong>{amounts.judgedText(model.judged)}</strong>}
      <Decided model={model} />
    </span>
  );
  const to = ['pipelines', pipeline, 'models'];
  const changed = <LinkButton text="What changed" to={to} query={{ model: runId }} />;
  const isWaiting = model?.state === 'candidate';
  return (
    <Section title="Model" note={state} tools={changed} kind="stack">
      <code>{modelUri}</code>
      <div class="row">
        <Command of={`model get ${runId}`} />
        <Command of={isWaiting ? `model promote ${runId} --reason "…"` : `run --again ${runId}`} />
      </div>
    </Section>
  );
}

const VERDICT_COLUMNS = [...numbers('attempt'), 'the doctor says', 'what to change'];

/** The newest verdict in one sentence. */
export function Advice({ verdicts }: Readonly<{ verdicts: AnswerOf<'getUtilisation'>['verdicts'] }>) {
  const newest = verdicts.at(-1)?.attempt;
  const first = verdicts.find(({ attempt }) => attempt === newest);
  if (first === undefined) return null;
  const cause = format.wordsOf(first.cause).toLowerCase();
  const rows = verdicts.map(({ attempt, cause, remedy }) => [attempt, format.wordsOf(cause), remedy]);
  return (
    <ul class="card events" aria-label="advice">
      <EventRow state="warn" bold={`Doctor, ${cause}:`} text={first.remedy}>
        <DialogButton text="All advice…" title="What the doctor says">
          {() => <Table caption="verdicts of the doctor" columns={VERDICT_COLUMNS} rows={rows} />}
        </DialogButton>
      </EventRow>
    </ul>
  );
}

/** By the words of a kind: colour, and the tab that proves it. */
const KINDS: readonly (readonly [RegExp, state: string, tab?: string])[] = [
  [/fail|stalled|hangs/i, 'failed', 'log'],
  [/interrupt|rebalance|replaced|recall|newer|incomplete|nothing|delayed/i, 'warn', 'log'],
  [/doctor|disk/i, 'warn'],
  [/started|placed|waitingForCapacity/i, 'spot', 'why'],
  [/finished|succeeded|completed/i, 'succeeded'],
  [/sealed|settled|quality|packed/i, 'settling', 'data'],
  [/requested|changed/i, 'training'],
];

/** What happened: a row an event, newest first; equal ones fold, and so do tracebacks. */
export function Events({ view: { run, timeline, timelineCount } }: ViewProps) {
  if (timeline.length === 0) return <Empty>Nothing has happened yet.</Empty>;
  const before = timelineCount - timeline.length;
  // Consecutive entries that say the same are one.
  const rows = timeline
    .toReversed()
    .filter(({ kind, text }, place, all) => all[place - 1]?.kind !== kind || all[place - 1]?.text !== text);
  return (
    <Section title="What happened" note={before > 0 ? `${before} older ones are not shown` : 'newest first'}>
      <ul class="card events" aria-label="timeline">
        {rows.map(({ id, at, kind, text }) => {
          const [, state, tab] = KINDS.find(([pattern]) => pattern.test(kind)) ?? [];
          const { cause, more } = format.causeOf(text);
          const path = tab === 'data' ? ['pipelines', run.pipeline, tab] : ['runs', run.runId, tab ?? ''];
          return (
            <EventRow key={id} at={at} state={state} bold={format.wordsOf(kind)} text={cause} more={more}>
              {tab && (
                <a class="quiet" href={hrefOf(path)}>
                  {tab === 'why' ? 'why here' : tab}
                </a>
              )}
            </EventRow>
          );
        })}
      </ul>
    </Section>
  );
}

/** What persons say of a run. */
function AnnotationButton({ view: { run }, onChange: onDone }: ChangeProps) {
  const { runId, annotation } = run;
  const { note, tags = [] } = annotation ?? {};
  const call = ({ note = '', tags = '' }) =>
    ask('annotateRun', { runId, body: { note, tags: tags.split(',').flatMap((tag) => tag.trim() || []) } });
  return (
    <DialogButton text="Note and tags…" title="Note and tags" act={{ text: 'Save', call, onDone }}>
      {() => (
        <>
          <textarea rows={4} name="note" aria-label="note" placeholder="For colleagues" defaultValue={note} />
          <Field name="tags" label="tags, with commas" defaultValue={tags.join(', ')} />
        </>
      )}
    </DialogButton>
  );
}

function ReportButton({ view: { run, report } }: ViewProps) {
  const call = () => ask('getReport', { runId: run.runId });
  const onDone = (body: object | undefined): void =>
    body && save(`${run.runId}-report.json`, JSON.stringify(body, undefined, 2));
  return report && <SendButton text="Report as JSON" {...{ call, onDone }} />;
}

const NODE_BASIS = 'the same useful work on the cheapest single On-Demand node that could have done it';
const FILES_BASIS = 'their storage at its price a month, while an attempt asked for capacity or trained';

/** Whose it is, which code, its report and notes: read once, so they stand last. */
export function Details({ view, onChange }: ChangeProps) {
  const { run, report, money } = view;
  const { lost } = money;
  const { declaration, annotation } = run;
  const tags = Object.entries(declaration?.tags ?? {}).map((tag) => tag.join('='));
  const tools = (
    <>
      <ReportButton view={view} />
      <AnnotationButton key={JSON.stringify(annotation)} view={view} onChange={onChange} />
    </>
  );
  return (
    <Section title="Details" tools={tools} kind="stack">
      {annotation?.note && <p>{annotation.note}</p>}
      <Facts
        items={[
          ['began', <Time at={run.createdAt} />],
          ['started by', run.request?.requestedBy ?? run.trigger],
          ['owner', declaration?.owner],
          ['tags', [...tags, ...(annotation?.tags ?? [])].join(', ')],
          ['code', codeText(run)],
          ['of the cost', money.usd > 0 && sharesText(money)],
          ['lost work', lost.seconds > 0 && `${amounts.durationText(lost.seconds)}, ${usd(lost.usd)}`],
          ...reportItems(report),
        ]}
      />
    </Section>
  );
}

function reportItems(report: Partial<Report> = {}) {
  const { metrics, onDemandNode: node, fileSystemsUsd: files, restarts, attempts = [] } = report;
  const each = attempts.flatMap(({ attempt, restart }) =>
    restart ? `attempt ${attempt}: ${amounts.restartText(restart)}` : [],
  );
  return [
    ['metrics', amounts.metricTexts(metrics).join(', ')],
    ['restarts', restarts && <Basis of={each.join('; ')}>{amounts.restartText(restarts)}</Basis>],
    [`on one ${node?.instanceType}`, node && <Basis of={NODE_BASIS}>{usd(node.usd)}</Basis>],
    ['file systems', files && <Basis of={FILES_BASIS}>{usd(files)}</Basis>],
  ] as const;
}

/** Where the money went: by purchase option, and what was lost. */
function sharesText({ usd: all, byPurchaseOption, lost }: View['money']): string {
  const parts = byPurchaseOption.map(
    ({ purchaseOption, usd: part }) =>
      `${format.PURCHASE_OPTIONS[purchaseOption]} ${format.percentText(part / all)}`,
  );
  return `${parts.join(', ')}; lost ${format.percentText(lost.usd / all)}`;
}
