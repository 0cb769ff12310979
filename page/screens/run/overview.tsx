/** The head of a run's overview: its vital figures, what went wrong, its model, one advice; at the end the details. */
import { useSignal } from '@preact/signals';
import {
  durationText,
  judgedText,
  lateTexts,
  metricTexts,
  restartText,
  savedText,
} from '../../../client/amounts.ts';
import { codeText, isFinished, savedProgress, usdSoFar } from '../../../client/run-view.ts';
import { Sparkline } from '../../charts/bars.tsx';
import { save } from '../../charts/chart.tsx';
import { type SeriesView, sparkOf } from '../../model/curve.ts';
import * as format from '../../model/format.ts';
import { type Leading, leadingOf } from '../../model/leading.ts';
import type { ModelView } from '../../model/lineage.ts';
import { EventRow, Section, Vitals } from '../../parts/card.tsx';
import { DialogButton, Dismiss, fieldOf, SendButton, Words } from '../../parts/controls.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { Basis, Command, Decided, Facts, Pill, Time, Usd } from '../../parts/text.tsx';
import { hrefOf, modelsHref } from '../../state/address.ts';
import { type AnswerOf, ask } from '../../state/api.ts';
import { useReading } from '../../state/readings.ts';

type View = AnswerOf<'getRun'>;
type ViewProps = Readonly<{ view: View }>;
type ChangeProps = Readonly<{ view: View; onChange: () => void }>;
type Report = NonNullable<View['report']>;

type RunVitalsProps = Readonly<{
  view: View;
  series: readonly SeriesView[] | undefined;
  now: number;
  inUse: ModelView | undefined;
}>;

/** Which metric and how good, how far, when done, what it costs. @param series undefined: not read yet */
export function RunVitals({ view, series, now, inUse }: RunVitalsProps) {
  const end = isFinished(view.run) ? ended(view) : doneBy(view, now);
  const leading = leadingOf(view, series ?? []) ?? (series === undefined ? UNREAD : UNMEASURED);
  return (
    <Vitals label="vital figures" of={[measured(leading, inUse), progressOf(view), end, cost(view, now)]} />
  );
}

const UNREAD = { name: 'metric', value: '', note: '…', series: undefined };
const UNMEASURED = { ...UNREAD, note: 'no number yet' };

function measured({ name, value, note, series }: typeof UNREAD | Leading, inUse: ModelView | undefined) {
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
  `${interruptions} interruption${interruptions === 1 ? '' : 's'}${lostSeconds > 0 ? `, ${durationText(lostSeconds)} lost` : ''}`;

/** @param left seconds */
const leftText = (left: number): string =>
  left >= 0 ? `${durationText(left)} before the deadline` : `${durationText(-left)} after the deadline`;

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
      ? [leftText((Date.parse(deadlineAt) - finish) / 1000), ...lateTexts(lateChance)].join('; ')
      : due,
  };
}

function ended({ run, report, money }: View) {
  const end = report?.finishedAt ?? run.updatedAt;
  const { at = money.deadlineAt, met } = report?.deadline ?? {};
  const left = (Date.parse(at ?? '') - Date.parse(end)) / 1000;
  // A run that failed may have had time left.
  const due = met === false && left >= 0 ? 'deadline not met' : leftText(left);
  const beside = [<>until </>, <Time at={end} />];
  const figure = format.elapsedText(run.createdAt, end);
  return { label: 'Took', figure, beside, note: at === undefined ? 'no deadline' : due };
}

const REPORT_BASIS =
  'billed seconds of all attempts by the price of their pools, and what was copied between regions';
const ON_DEMAND_BASIS = 'what ran, on the same types at On-Demand prices: without the work that Spot lost';

function cost({ money, report }: View, now: number) {
  const { usdPerSecond, asOf, expected, budgetUsd } = money;
  const onDemand = (usd: number, beside?: number) => (
    <>
      On-Demand would be <Usd usd={usd} beside={beside} basis={ON_DEMAND_BASIS} />
      {budgetUsd !== undefined && `; budget ${format.dollarText(budgetUsd)}`}
    </>
  );
  if (report !== undefined)
    return {
      label: 'Cost',
      figure: <Usd usd={report.costUsd} beside={report.onDemandUsd} basis={REPORT_BASIS} />,
      beside: `$${savedText(report)} saved`,
      note: onDemand(report.onDemandUsd, report.costUsd),
    };
  const since = `counted until ${format.whenText(asOf)}, and since then by ${format.dollarText(usdPerSecond * 3600)} an hour`;
  const about = expected && (
    <Basis
      of={`90 % between ${format.dollarText(expected.usd.low)} and ${format.dollarText(expected.usd.high)}`}
    >
      {`of about ${format.dollarText(expected.usd.expected)}`}
    </Basis>
  );
  return {
    label: 'Cost',
    figure: <Usd usd={usdSoFar(money, now)} basis={`billed seconds by the price of each pool, ${since}`} />,
    beside: about,
    note: onDemand(expected?.onDemandUsd ?? money.onDemandUsd),
  };
}

/** What ended the run, in one line; the traceback is one press away. */
export function Failure({ view: { run }, onChange }: ChangeProps) {
  if (run.failure === undefined) return null;
  const { cause, more } = format.causeOf(run.failure);
  return (
    <ul class="card events needs" aria-label="failure">
      <EventRow state="failed" bold={cause} more={more}>
        <a class="button" href={hrefOf(['runs', run.runId, 'log'])}>
          Log
        </a>
        <Dismiss run={run} onDone={onChange} />
      </EventRow>
    </ul>
  );
}

const ModelState = ({ model }: Readonly<{ model: ModelView }>) => (
  <>
    <Pill status={model.state} />
    {model.judged && <strong>{judgedText(model.judged)}</strong>}
    <Decided model={model} />
  </>
);

/** The model of an ended run: its state and why, its score, and the two commands that follow as a rule. */
export function Model({ view: { run, report } }: ViewProps) {
  const { runId, pipeline, modelUri } = run;
  const { body } = useReading('getModel', modelUri ? { runId } : undefined, () => undefined);
  if (modelUri === undefined) return null;
  const { model } = body ?? {};
  const next = { again: `run --again ${runId}`, decide: `model promote ${runId} --reason "…"` };
  return (
    <section class="card pad stack" aria-label="model">
      <div class="head">
        <h2>Model</h2>
        {model && <ModelState model={model} />}
        <span class="tools">
          {report && <ReportButton runId={runId} />}
          <a class="button" href={modelsHref(pipeline, runId)}>
            What changed
          </a>
        </span>
      </div>
      <code>{modelUri}</code>
      <div class="tools">
        <Command text={`npx --no-install tidewheel model get ${runId}`} />
        <Command
          text={`npx --no-install tidewheel ${next[model?.state === 'candidate' ? 'decide' : 'again']}`}
        />
      </div>
    </section>
  );
}

const VERDICT_COLUMNS = [...numbers('attempt'), 'the doctor says', 'what to change'];

/** The newest verdict in one sentence. */
export function Advice({ verdicts }: Readonly<{ verdicts: AnswerOf<'getUtilisation'>['verdicts'] }>) {
  const newest = verdicts.at(-1)?.attempt;
  const first = verdicts.find(({ attempt }) => attempt === newest);
  if (first === undefined) return null;
  const rows = verdicts.map(({ attempt, cause, remedy }) => [attempt, format.wordsOf(cause), remedy]);
  return (
    <ul class="card events needs" aria-label="advice">
      <EventRow
        state="warn"
        bold={`Doctor, ${format.wordsOf(first.cause).toLowerCase()}:`}
        text={first.remedy}
      >
        <DialogButton text="All advice…" title="What the doctor says" isWide>
          {() => <Table caption="verdicts of the doctor" columns={VERDICT_COLUMNS} rows={rows} />}
        </DialogButton>
      </EventRow>
    </ul>
  );
}

/** What persons say of a run. */
function AnnotationButton({ view: { run }, onChange: onDone }: ChangeProps) {
  const { runId, annotation } = run;
  const note = useSignal(annotation?.note ?? '');
  const form = useSignal({ tags: annotation?.tags.join(', ') ?? '' });
  const tags = form.value.tags.split(',').flatMap((tag) => tag.trim() || []);
  return (
    <DialogButton
      text="Note and tags…"
      title="Note and tags"
      act={{
        text: 'Save',
        call: () => ask('annotateRun', { runId, body: { note: note.value, tags } }),
        onDone: onDone,
      }}
    >
      {() => (
        <>
          <Words label="note" placeholder="What a colleague should know" of={note} />
          {fieldOf(form)('tags', 'tags, with commas', undefined, 'text')}
        </>
      )}
    </DialogButton>
  );
}

const ReportButton = ({ runId }: Readonly<{ runId: string }>) => (
  <SendButton
    text="Report as JSON"
    call={() => ask('getReport', { runId })}
    onDone={(body) => body && save(`${runId}-report.json`, JSON.stringify(body, undefined, 2))}
  />
);

const NODE_BASIS = 'the same useful work on the cheapest single On-Demand node that could have done it';
const FILES_BASIS = 'their storage at its price a month, while an attempt asked for capacity or trained';

/** Whose it is, which code, its report and notes: read once, so they stand last. */
export function Details({ view, onChange }: ChangeProps) {
  const { run, report, money } = view;
  const { declaration, annotation, runId, modelUri } = run;
  const tags = Object.entries(declaration?.tags ?? {}).map((tag) => tag.join('='));
  const tools = (
    <>
      {report && modelUri === undefined && <ReportButton runId={runId} />}
      <AnnotationButton key={JSON.stringify(annotation)} view={view} onChange={onChange} />
    </>
  );
  return (
    <Section title="Details" tools={tools}>
      <div class="card pad stack">
        {annotation?.note && <p>{annotation.note}</p>}
        <Facts
          items={[
            ['began', <Time at={run.createdAt} />],
            ['started by', run.request?.requestedBy ?? run.trigger],
            ['owner', declaration?.owner],
            ['tags', [...tags, ...(annotation?.tags ?? [])].join(', ')],
            ['code', codeText(run)],
            ...moneyItems(money),
            ...reportItems(report),
          ]}
        />
      </div>
    </Section>
  );
}

const moneyItems = (money: View['money']) => {
  const { seconds, usd } = money.lost;
  const lost = seconds > 0 && `${durationText(seconds)}, ${format.dollarText(usd)}`;
  return Object.entries({ 'of the cost': money.usd > 0 && sharesText(money), 'lost work': lost });
};

const restartsText = (attempts: Report['attempts']): string =>
  attempts
    .flatMap(({ attempt, restart }) => (restart ? `attempt ${attempt}: ${restartText(restart)}` : []))
    .join('; ');

const reportItems = ({
  metrics = {},
  onDemandNode: node,
  fileSystemsUsd: files,
  restarts,
  attempts = [],
}: Partial<Report> = {}) =>
  [
    ['metrics', metricTexts(metrics).join(', ')],
    ['restarts', restarts && <Basis of={restartsText(attempts)}>{restartText(restarts)}</Basis>],
    [`on one ${node?.instanceType}`, node && <Usd usd={node.usd} basis={NODE_BASIS} />],
    ['file systems', files && <Usd usd={files} basis={FILES_BASIS} />],
  ] as const;

/** Where the money went: by purchase option, and what was lost. */
function sharesText({ usd, byPurchaseOption, lost }: View['money']): string {
  const parts = byPurchaseOption.map(
    ({ purchaseOption, usd: part }) =>
      `${format.PURCHASE_OPTIONS[purchaseOption]} ${format.percentText(part / usd)}`,
  );
  return `${parts.join(', ')}; lost ${format.percentText(lost.usd / usd)}`;
}
