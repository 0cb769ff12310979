/** The head of a run's overview: its vital figures, what went wrong, its model, one advice; at the end the details. */
import { durationText, metricTexts, savedText } from '../../../client/amounts.ts';
import { codeText, isFinished, savedProgress, usdSoFar } from '../../../client/run-view.ts';
import { Sparkline } from '../../charts/bars.tsx';
import { save } from '../../charts/chart.tsx';
import { type SeriesView, sparkOf } from '../../model/curve.ts';
import { causeOf, dollarText, elapsedText, percentText, whenText, wordsOf } from '../../model/format.ts';
import { leadingOf } from '../../model/leading.ts';
import { Section, Vital } from '../../parts/card.tsx';
import { DialogButton } from '../../parts/controls.tsx';
import { Dismiss } from '../../parts/dismiss.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { Basis, Command, Facts, Time, Usd } from '../../parts/text.tsx';
import { hrefOf } from '../../state/address.ts';
import { type AnswerOf, client } from '../../state/api.ts';
import { AnnotationButton } from './annotation.tsx';

type View = AnswerOf<'getRun'>;
type ViewProps = Readonly<{ view: View }>;
type ChangeProps = Readonly<{ view: View; onChange: () => void }>;
type Report = NonNullable<View['report']>;

/** Which metric and how good, how far, when done, what it costs. @param series undefined: not read yet */
export function Vitals({
  view,
  series,
  now,
}: Readonly<{ view: View; series: readonly SeriesView[] | undefined; now: number }>) {
  const leading = leadingOf(view, series ?? []);
  const none = series === undefined ? '…' : 'no number yet';
  return (
    <section class="card vitals" aria-label="vital figures">
      <Vital label={leading?.name ?? 'metric'} figure={leading?.value} note={leading?.note ?? none}>
        {leading && <Sparkline label={`${leading.name} so far`} values={sparkOf(leading.series)} />}
      </Vital>
      <Progress view={view} />
      {isFinished(view.run) ? <Ended view={view} /> : <DoneBy view={view} now={now} />}
      <Cost view={view} now={now} />
    </section>
  );
}

function Progress({ view }: ViewProps) {
  const { run, report } = view;
  const { step = 0, totalSteps = 0, unit = 'step' } = savedProgress(view) ?? {};
  const some = step > 0 ? `${unit} ${step}` : 'nothing';
  const isKnown = totalSteps > 0;
  return (
    <Vital
      label={isFinished(run) ? 'Trained' : 'Saved'}
      figure={isKnown ? percentText(step / totalSteps) : some}
      beside={isKnown && `${step.toLocaleString()} of ${totalSteps.toLocaleString()} ${unit}s`}
      note={report ? interruptionsText(report) : preparingText(view)}
    >
      {isKnown && <progress value={step} max={totalSteps} aria-label="saved work" />}
    </Vital>
  );
}

/** What the newest attempt does before its script starts. */
function preparingText({ attempts }: ViewProps['view']): string | undefined {
  const { preparing, outcome } = attempts.at(-1) ?? {};
  return outcome === undefined ? preparing?.text : undefined;
}

const interruptionsText = ({ interruptions, lostSeconds }: Report): string =>
  `${interruptions} interruption${interruptions === 1 ? '' : 's'}${lostSeconds > 0 ? `, ${durationText(lostSeconds)} lost` : ''}`;

/** @param left seconds */
const leftText = (left: number): string =>
  left >= 0 ? `${durationText(left)} before the deadline` : `${durationText(-left)} after the deadline`;

function DoneBy({ view: { money }, now }: ViewProps & Readonly<{ now: number }>) {
  const { expected, deadlineAt } = money;
  const due = deadlineAt === undefined ? 'no deadline' : `deadline ${whenText(deadlineAt)}`;
  if (expected === undefined) return <Vital label="Done by" figure="…" beside="not known yet" note={due} />;
  const { finishAt, basis, lateChance = 0 } = expected;
  // An end that was expected before now has not come true.
  const finish = Math.max(now, Date.parse(finishAt.expected));
  const source =
    basis === 'measured' ? 'what this run has measured' : 'earlier runs: nothing is measured yet';
  const late = lateChance > 0.05 ? `, late with ${Math.round(lateChance * 100)} %` : '';
  const left = deadlineAt && leftText((Date.parse(deadlineAt) - finish) / 1000);
  const between = `${whenText(finishAt.low)} to ${whenText(finishAt.high)}`;
  return (
    <Vital
      label="Done by"
      figure={whenText(finish)}
      beside={<Basis of={`90 % between, from ${source}`}>{between}</Basis>}
      note={left === undefined ? due : `${left}${late}`}
    />
  );
}

function Ended({ view: { run, report, money } }: ViewProps) {
  const end = report?.finishedAt ?? run.updatedAt;
  const { at = money.deadlineAt, met } = report?.deadline ?? {};
  const left = (Date.parse(at ?? '') - Date.parse(end)) / 1000;
  // A run that failed may have had time left.
  const due = met === false && left >= 0 ? 'deadline not met' : leftText(left);
  const until = (
    <>
      until <Time at={end} />
    </>
  );
  const note = at === undefined ? 'no deadline' : due;
  return <Vital label="Took" figure={elapsedText(run.createdAt, end)} beside={until} note={note} />;
}

const REPORT_BASIS =
  'billed seconds of all attempts by the price of their pools, and what was copied between regions';
const ON_DEMAND_BASIS = 'what ran, on the same types at On-Demand prices: without the work that Spot lost';

function Cost({ view: { money, report }, now }: ViewProps & Readonly<{ now: number }>) {
  const { usdPerSecond, asOf, expected, budgetUsd } = money;
  const onDemand = (usd: number, beside?: number) => (
    <>
      On-Demand would be <Usd usd={usd} beside={beside} basis={ON_DEMAND_BASIS} />
      {budgetUsd !== undefined && `; budget ${dollarText(budgetUsd)}`}
    </>
  );
  if (report !== undefined)
    return (
      <Vital
        label="Cost"
        figure={<Usd usd={report.costUsd} beside={report.onDemandUsd} basis={REPORT_BASIS} />}
        beside={`$${savedText(report)} saved`}
        note={onDemand(report.onDemandUsd, report.costUsd)}
      />
    );
  const since = `counted until ${whenText(asOf)}, and since then by ${dollarText(usdPerSecond * 3600)} an hour`;
  const about = expected && (
    <Basis of={`90 % between ${dollarText(expected.usd.low)} and ${dollarText(expected.usd.high)}`}>
      {`of about ${dollarText(expected.usd.expected)}`}
    </Basis>
  );
  return (
    <Vital
      label="Cost"
      figure={<Usd usd={usdSoFar(money, now)} basis={`billed seconds by the price of each pool, ${since}`} />}
      beside={about}
      note={onDemand(expected?.onDemandUsd ?? money.onDemandUsd)}
    />
  );
}

/** What ended the run, in one line; the traceback is one press away. */
export function Failure({ view: { run }, onChange }: ChangeProps) {
  if (run.failure === undefined) return null;
  const { cause, more } = causeOf(run.failure);
  return (
    <section class="alert is-failed" aria-label="failure">
      <span class="dot" />
      <p>
        <strong>{cause}</strong>
      </p>
      <span class="tools">
        {more !== undefined && (
          <DialogButton text="Traceback" title="Traceback" isWide>
            {() => <pre tabIndex={0}>{more}</pre>}
          </DialogButton>
        )}
        <a class="button" href={hrefOf(['runs', run.runId, 'log'])}>
          Log
        </a>
        <Dismiss run={run} onDone={onChange} />
      </span>
    </section>
  );
}

/** The model, and the two commands that follow as a rule. */
export const Model = ({ view: { run } }: ViewProps) =>
  run.modelUri === undefined ? null : (
    <section class="card pad stack" aria-label="model">
      <div class="head">
        <h2>Model</h2>
        <code>{run.modelUri}</code>
      </div>
      <div class="tools">
        <Command text={`npx tidewheel model get ${run.runId}`} />
        <Command text={`npx tidewheel run --again ${run.runId}`} />
      </div>
    </section>
  );

/** The newest verdict in one sentence. */
export function Advice({ verdicts }: Readonly<{ verdicts: AnswerOf<'getUtilisation'>['verdicts'] }>) {
  const newest = verdicts.at(-1)?.attempt;
  const first = verdicts.find(({ attempt }) => attempt === newest);
  if (first === undefined) return null;
  return (
    <section class="card pad head is-warn" aria-label="advice">
      <span class="pill">doctor</span>
      <p>
        <strong>{wordsOf(first.cause)}</strong>
        {first.remedy && `: ${first.remedy}`}
      </p>
      <span class="tools">
        <DialogButton text="All advice…" title="What the doctor says" isWide>
          {() => (
            <Table
              caption="verdicts of the doctor"
              columns={[...numbers('attempt'), 'the doctor says', 'what to change']}
              rows={verdicts.map(({ attempt, cause, remedy }) => [attempt, wordsOf(cause), remedy])}
            />
          )}
        </DialogButton>
      </span>
    </section>
  );
}

/** Whose it is, which code, its report and notes: read once, so they stand last. */
export function Details({ view: { run, report, money }, onChange }: ChangeProps) {
  const { declaration, annotation } = run;
  const tools = (
    <>
      {report !== undefined && (
        <button type="button" onClick={() => void saveReport(run.runId)}>
          Report as JSON
        </button>
      )}
      <AnnotationButton run={run} onDone={onChange} />
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
            ['tags', tagsText(run)],
            ['code', codeText(run)],
            ...moneyItems(money),
            ...reportItems(report),
          ]}
        />
      </div>
    </Section>
  );
}

const tagsText = ({ declaration, annotation }: View['run']): string =>
  [...Object.entries(declaration?.tags ?? {}).map((tag) => tag.join('=')), ...(annotation?.tags ?? [])].join(
    ', ',
  );

function moneyItems(money: View['money']) {
  const { seconds, usd } = money.lost;
  return [
    ['of the cost', money.usd > 0 && sharesText(money)],
    ['lost work', seconds > 0 && `${durationText(seconds)}, ${dollarText(usd)}`],
  ] as const;
}

async function saveReport(runId: string): Promise<void> {
  const answer = await client.call('getReport', { runId });
  if (answer.kind === 'ok') save(`${runId}-report.json`, JSON.stringify(answer.body, undefined, 2));
}

/** Where the money went: by purchase option, and what was lost. */
function sharesText({ usd, byPurchaseOption, lost }: View['money']): string {
  const parts = byPurchaseOption.map(
    ({ purchaseOption, usd: part }) =>
      `${purchaseOption === 'spot' ? 'Spot' : 'On-Demand'} ${percentText(part / usd)}`,
  );
  return `${parts.join(', ')}; lost ${percentText(lost.usd / usd)}`;
}

const NODE_BASIS = 'the same useful work on the cheapest single On-Demand node that could have done it';
const FILES_BASIS = 'their storage at its price a month, while an attempt asked for capacity or trained';

const reportItems = ({ metrics = {}, onDemandNode: node, fileSystemsUsd: files }: Partial<Report> = {}) =>
  [
    ['metrics', metricTexts(metrics).join(', ')],
    [`on one ${node?.instanceType}`, node && <Usd usd={node.usd} basis={NODE_BASIS} />],
    ['file systems', files && <Usd usd={files} basis={FILES_BASIS} />],
  ] as const;
