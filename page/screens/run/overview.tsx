/** The head of a run's overview: its vital figures, what went wrong, its model, one advice; at the end the details. */
import { durationText, metricTexts, savedText } from '../../../client/amounts.ts';
import { codeText, isFinished, savedProgress, usdSoFar } from '../../../client/run-view.ts';
import { Sparkline } from '../../charts/bars.tsx';
import { save } from '../../charts/chart.tsx';
import { type SeriesView, sparkOf } from '../../model/curve.ts';
import { causeOf, dollarText, elapsedText, percentText, whenText } from '../../model/format.ts';
import { leadingOf } from '../../model/leading.ts';
import { Section } from '../../parts/card.tsx';
import { Action } from '../../parts/controls.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { Basis, Command, Facts, Time, Usd } from '../../parts/text.tsx';
import { hrefOf } from '../../state/address.ts';
import { type AnswerOf, client } from '../../state/api.ts';
import { wordsOf } from './events.tsx';
import { Annotation, Dismiss } from './annotation.tsx';

type View = AnswerOf<'getRun'>;
type Report = NonNullable<View['report']>;

const ON_DEMAND_BASIS = 'what ran, on the same types at On-Demand prices: without the work that Spot lost';

interface VitalsProps {
  readonly view: View;
  /** undefined: not read yet */
  readonly series: readonly SeriesView[] | undefined;
  readonly now: number;
}

/** Which metric and how good, how far, when done, what it costs. */
export const Vitals = ({ view, series, now }: VitalsProps) => (
  <section class="card vitals" aria-label="vital figures">
    <Metric view={view} series={series} />
    <Progress view={view} />
    {view.report === undefined ? (
      <DoneBy view={view} now={now} />
    ) : (
      <Ended view={view} report={view.report} />
    )}
    <Cost view={view} now={now} />
  </section>
);

function Metric({ view, series }: Omit<VitalsProps, 'now'>) {
  const leading = leadingOf(view, series ?? []);
  if (leading === undefined)
    return (
      <div>
        <p class="label">metric</p>
        <p class="quiet">
          {series === undefined ? '…' : isFinished(view.run) ? 'no number' : 'no number yet'}
        </p>
      </div>
    );
  return (
    <div>
      <p class="label">{leading.name}</p>
      <b>{leading.value}</b>
      <Sparkline label={`${leading.name} so far`} values={sparkOf(leading.series)} />
      <p class="quiet">{leading.note}</p>
    </div>
  );
}

function Progress({ view }: { readonly view: View }) {
  const { run, report } = view;
  const { step = 0, totalSteps = 0, unit = 'step' } = savedProgress(view) ?? {};
  const share = totalSteps > 0 ? step / totalSteps : undefined;
  return (
    <div>
      <p class="label">{isFinished(run) ? 'Trained' : 'Saved'}</p>
      <b>{share !== undefined ? percentText(share) : step > 0 ? `${unit} ${step}` : 'nothing'}</b>
      {share !== undefined && (
        <>
          <span class="quiet">{`${step.toLocaleString()} of ${totalSteps.toLocaleString()} ${unit}s`}</span>
          <progress value={step} max={totalSteps} aria-label="saved work" />
        </>
      )}
      {report !== undefined && (
        <p class="quiet">
          {`${report.interruptions} interruptions${report.lostSeconds > 0 ? `, ${durationText(report.lostSeconds)} lost` : ''}`}
        </p>
      )}
    </div>
  );
}

/** @param left seconds */
const leftText = (left: number): string =>
  left >= 0 ? `${durationText(left)} before the deadline` : `${durationText(-left)} after the deadline`;

function DoneBy({ view: { run, money }, now }: Pick<VitalsProps, 'view' | 'now'>) {
  const { expected, deadlineAt } = money;
  if (expected === undefined)
    return (
      <div>
        <p class="label">{isFinished(run) ? 'Ended' : 'Done by'}</p>
        <p>{isFinished(run) ? <Time at={run.updatedAt} /> : 'not known yet'}</p>
        <p class="quiet">{deadlineAt === undefined ? 'no deadline' : `deadline ${whenText(deadlineAt)}`}</p>
      </div>
    );
  const { finishAt, basis, lateChance = 0 } = expected;
  // What was expected earlier than now has not come true.
  const finish = Math.max(now, Date.parse(finishAt.expected));
  const source =
    basis === 'measured' ? 'from what this run has measured' : 'from earlier runs: nothing is measured yet';
  const late = lateChance > 0.05 ? `, late with ${Math.round(lateChance * 100)} %` : '';
  return (
    <div>
      <p class="label">Done by</p>
      <b>{whenText(finish)}</b>
      <span class="quiet">
        <Basis
          of={`90 % between, ${source}`}
        >{`${whenText(finishAt.low)} to ${whenText(finishAt.high)}`}</Basis>
      </span>
      <p class="quiet">
        {deadlineAt === undefined
          ? 'no deadline'
          : `${leftText((Date.parse(deadlineAt) - finish) / 1000)}${late}`}
      </p>
    </div>
  );
}

const Ended = ({ view: { run }, report }: { readonly view: View; readonly report: Report }) => (
  <div>
    <p class="label">Took</p>
    <b>{elapsedText(run.createdAt, report.finishedAt)}</b>
    <span class="quiet">
      until <Time at={report.finishedAt} />
    </span>
    <p class="quiet">{deadlineText(report)}</p>
  </div>
);

function deadlineText({ deadline: { at, met }, finishedAt }: Report): string {
  if (at === undefined) return 'no deadline';
  const left = (Date.parse(at) - Date.parse(finishedAt)) / 1000;
  // A run that failed may have had time left.
  return met === false && left >= 0 ? `deadline ${whenText(at)} not met` : leftText(left);
}

function Cost({ view: { money, report }, now }: Pick<VitalsProps, 'view' | 'now'>) {
  const { usdPerSecond, asOf, expected, onDemandUsd, budgetUsd } = money;
  if (report !== undefined)
    return (
      <div>
        <p class="label">Cost</p>
        <b>
          <Usd
            usd={report.costUsd}
            beside={report.onDemandUsd}
            basis="billed seconds of all attempts by the price of their pools, and what was copied between regions"
          />
        </b>
        <span class="quiet">{`$${savedText(report)} saved`}</span>
        <p class="quiet">
          On-Demand would be <Usd usd={report.onDemandUsd} beside={report.costUsd} basis={ON_DEMAND_BASIS} />
        </p>
      </div>
    );
  const since = `counted until ${whenText(asOf)}, and since then by ${(usdPerSecond * 3600).toFixed(2)} USD an hour`;
  return (
    <div>
      <p class="label">Cost</p>
      <b>
        <Usd usd={usdSoFar(money, now)} basis={`billed seconds by the price of each pool, ${since}`} />
      </b>
      {expected !== undefined && (
        <Basis of={`90 % between ${dollarText(expected.usd.low)} and ${dollarText(expected.usd.high)}`}>
          {`of about ${dollarText(expected.usd.expected)}`}
        </Basis>
      )}
      <p class="quiet">
        On-Demand would be <Usd usd={expected?.onDemandUsd ?? onDemandUsd} basis={ON_DEMAND_BASIS} />
        {budgetUsd !== undefined && `; budget ${dollarText(budgetUsd)}`}
      </p>
    </div>
  );
}

/** What ended the run, in one line; the traceback is one press away. */
export function Failure({ view: { run }, onChange }: { readonly view: View; readonly onChange: () => void }) {
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
          <Action text="Traceback" title="Traceback" isWide>
            {() => <pre tabIndex={0}>{more}</pre>}
          </Action>
        )}
        <a class="button" href={hrefOf(['runs', run.runId, 'log'])}>
          Log
        </a>
        <Dismiss run={run} onDone={onChange} />
      </span>
    </section>
  );
}

/** What came of it, and what one does next with it. */
export function Model({ view: { run } }: { readonly view: View }) {
  if (run.modelUri === undefined) return null;
  return (
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
}

interface AdviceProps {
  readonly verdicts: AnswerOf<'getUtilisation'>['verdicts'];
  readonly runId: string;
  readonly isEnded: boolean;
}

/** The newest verdict in one sentence. */
export function Advice({ verdicts, runId, isEnded }: AdviceProps) {
  const newest = verdicts.at(-1)?.attempt;
  const first = verdicts.find(({ attempt }) => attempt === newest);
  if (first === undefined) return null;
  return (
    <section class="card pad head is-warn" aria-label="advice">
      <span class="pill">doctor</span>
      <p>
        <strong>{wordsOf(first.cause)}</strong>
        {first.remedy === undefined ? '' : `: ${first.remedy}`}
      </p>
      <span class="tools">
        <Action text={isEnded ? 'All advice' : 'All advice…'} title="What the doctor says" isWide>
          {() => (
            <>
              <Table
                caption="verdicts of the doctor"
                columns={[...numbers('attempt'), 'the doctor says', 'what to change']}
                rows={verdicts.map(({ attempt, cause, remedy = '' }) => [attempt, wordsOf(cause), remedy])}
              />
              <Command text={`npx tidewheel doctor ${runId}`} />
            </>
          )}
        </Action>
      </span>
    </section>
  );
}

/** Whose it is, which code, its report and notes: read once, so they stand last. */
export function Details({ view, onChange }: { readonly view: View; readonly onChange: () => void }) {
  const { run, report, money } = view;
  const { owner } = run.declaration ?? {};
  return (
    <Section
      title="Details"
      tools={
        <>
          {report !== undefined && (
            <button type="button" onClick={() => void saveReport(run.runId)}>
              Report as JSON
            </button>
          )}
          <Annotation run={run} onDone={onChange} />
        </>
      }
    >
      <div class="card pad stack">
        {run.annotation?.note !== undefined && <p>{run.annotation.note}</p>}
        <Facts
          items={[
            ['began', <Time at={run.createdAt} />],
            ['started by', run.request?.requestedBy ?? run.trigger],
            ['owner', owner],
            ['tags', tagsOf(run).join(', ') || undefined],
            ['code', codeText(run)],
            ['of the cost', sharesText(money)],
            [
              'lost work',
              money.lost.seconds > 0
                ? `${durationText(money.lost.seconds)}, ${dollarText(money.lost.usd)}`
                : undefined,
            ],
            ...reportItems(report),
          ]}
        />
      </div>
    </Section>
  );
}

async function saveReport(runId: string): Promise<void> {
  const answer = await client.call('getReport', { runId });
  if (answer.kind === 'ok')
    save(
      `${runId}-report.json`,
      new Blob([JSON.stringify(answer.body, undefined, 2)], { type: 'application/json' }),
    );
}

const tagsOf = ({ declaration, annotation }: View['run']): readonly string[] => [
  ...Object.entries(declaration?.tags ?? {}).map(([tag, value]) => `${tag}=${value}`),
  ...(annotation?.tags ?? []),
];

/** Where the money went: by purchase option, and what was lost. */
function sharesText({ usd, byPurchaseOption, lost }: View['money']): string | undefined {
  if (usd <= 0) return undefined;
  const parts = byPurchaseOption.map(
    ({ purchaseOption, usd: part }) =>
      `${purchaseOption === 'spot' ? 'Spot' : 'On-Demand'} ${percentText(part / usd)}`,
  );
  return `${parts.join(', ')}; lost ${percentText(lost.usd / usd)}`;
}

function reportItems(report: Report | undefined): (readonly [string, preact.ComponentChildren])[] {
  if (report === undefined) return [];
  const { metrics, onDemandNode: node, fileSystemsUsd: files } = report;
  const nodeBasis = 'the same useful work on the cheapest single On-Demand node that could have done it';
  const filesBasis = 'their storage at its price a month, while an attempt asked for capacity or trained';
  return [
    ['metrics', metricTexts(metrics).join(', ') || undefined],
    [`on one ${node?.instanceType}`, node && <Usd usd={node.usd} basis={nodeBasis} />],
    ['file systems', files === undefined ? undefined : <Usd usd={files} basis={filesBasis} />],
  ];
}
