/** The head of a run: state, progress, money with its basis, deadline and finish. */
import { durationText, reportedTexts, savedText } from '../../../client/amounts.ts';
import { codeText, isFinished, savedProgress, usdSoFar } from '../../../client/run-view.ts';
import { elapsedText, percentText, timeText } from '../../model/format.ts';
import { Facts, Time, Usd } from '../../parts/text.tsx';
import type { AnswerOf } from '../../state/api.ts';
import { useClock } from '../../state/minute-clock.ts';

type View = AnswerOf<'getRun'>;
type Report = NonNullable<View['report']>;
type Money = View['money'];
type Item = readonly [string, preact.ComponentChildren];

export function RunOverview({ view }: { readonly view: View }) {
  const { run, report, money } = view;
  const now = useClock(!isFinished(run));
  const furthest = savedProgress(view);
  return (
    <>
      <Facts
        items={[
          ['state', run.status],
          ['began', <Time at={run.createdAt} />],
          ...ownItems(run),
          ...(furthest === undefined ? [] : [['saved', <Saved progress={furthest} />] as const]),
          ...(report === undefined ? openItems(money, now) : endedItems(run, report)),
        ]}
      />
      <Shares money={money} />
    </>
  );
}

/** Whose it is, and which code. */
function ownItems(run: View['run']): Item[] {
  const { owner, tags = {} } = run.declaration ?? {};
  const code = codeText(run);
  const tagged = Object.entries(tags).map(([tag, value]) => `${tag} = ${value}`);
  return [
    ...(owner === undefined ? [] : [['owner', owner] as const]),
    ...(tagged.length === 0 ? [] : [['tags', tagged.join(', ')] as const]),
    ...(code === undefined ? [] : [['code', code] as const]),
  ];
}

/** Between two readings, the money grows at the rate of the last one. */
function openItems(money: Money, now: number): Item[] {
  const { usdPerSecond, asOf, expected, deadlineAt, budgetUsd, onDemandUsd, lost } = money;
  const since = `counted until ${timeText(asOf)}, and since then by ${(usdPerSecond * 3600).toFixed(2)} USD an hour`;
  return [
    [
      'cost so far',
      <Usd usd={usdSoFar(money, now)} basis={`billed seconds by the price of each pool, ${since}`} />,
    ],
    ...(expected === undefined
      ? [['expected end', 'not known yet: nothing is known of its pace'] as const]
      : expectedItems(expected)),
    [
      'On-Demand would be',
      <Usd
        usd={expected?.onDemandUsd ?? onDemandUsd}
        basis="what ran, at On-Demand prices: without the work that Spot lost"
      />,
    ],
    ...(lost.seconds === 0
      ? []
      : [
          [
            'lost work',
            <span>
              {durationText(lost.seconds)},{' '}
              <Usd usd={lost.usd} basis="training that no checkpoint covered, at the price of its pool" />
            </span>,
          ] as const,
        ]),
    [
      'deadline',
      deadlineAt === undefined
        ? 'none'
        : `${timeText(deadlineAt)} (${leftText((Date.parse(deadlineAt) - now) / 1000)})`,
    ],
    ...(budgetUsd === undefined
      ? []
      : [['budget', <Usd usd={budgetUsd} basis="limits.budgetUsd of the declaration" />] as const]),
  ];
}

function expectedItems({ usd, finishAt, basis, lateChance = 0 }: NonNullable<Money['expected']>): Item[] {
  const source =
    basis === 'measured' ? 'from what this run has measured' : 'from earlier runs: nothing is measured yet';
  const spread = `90 % between ${usd.low.toFixed(2)} and ${usd.high.toFixed(2)} USD, ${source}`;
  const between = `90 % between ${timeText(finishAt.low)} and ${timeText(finishAt.high)}, ${source}`;
  const late = lateChance > 0.05 ? ` (late with ${Math.round(lateChance * 100)} %)` : '';
  return [
    ['expected in all', <Usd usd={usd.expected} basis={spread} />],
    [
      'expected end',
      <span class="basis" title={between}>
        {timeText(finishAt.expected)}
        {late}
      </span>,
    ],
  ];
}

/** @param left seconds */
const leftText = (left: number): string =>
  left >= 0 ? `${durationText(left)} left` : `${durationText(-left)} ago`;

const endedItems = (run: View['run'], report: Report): Item[] => [
  ...metricItems(report),
  ['took', elapsedText(run.createdAt, report.finishedAt)],
  ['deadline', <Deadline report={report} />],
  [
    'cost',
    <Usd
      usd={report.costUsd}
      beside={report.onDemandUsd}
      basis="billed seconds of all attempts by the price of their pools, and what was copied between regions"
    />,
  ],
  [
    'On-Demand would be',
    <Usd
      usd={report.onDemandUsd}
      beside={report.costUsd}
      basis="what ran, on the same types at On-Demand prices: without the work that Spot lost"
    />,
  ],
  ['saved', `$${savedText(report)}`],
  ...nodeItems(report),
  ...fileSystemItems(report),
  ['lost work', durationText(report.lostSeconds)],
  ['interruptions', String(report.interruptions)],
];

/** The last value of each, also where no checkpoint was recognised. */
function metricItems(report: Report): Item[] {
  const texts = reportedTexts(report);
  return texts.length === 0 ? [] : [['metrics', texts.join(', ')]];
}

/** The report knows one only where a type has as many accelerators, or CPUs, as all nodes had. */
const nodeItems = ({ onDemandNode: node }: Report): Item[] =>
  node === undefined
    ? []
    : [
        [
          `on one ${node.instanceType}`,
          <Usd
            usd={node.usd}
            basis="the same useful work on the cheapest single On-Demand node that could have done it"
          />,
        ],
      ];

const fileSystemItems = ({ fileSystemsUsd: usd }: Report): Item[] =>
  usd === undefined
    ? []
    : [
        [
          'of the cost, file systems',
          <Usd
            usd={usd}
            basis="their storage at its price a month, while an attempt asked for capacity or trained"
          />,
        ],
      ];

/** Where the money went: useful or lost, by purchase option. */
function Shares({ money: { usd, byPurchaseOption, lost } }: { readonly money: Money }) {
  if (usd <= 0) return null;
  const share = (part: number): string => percentText(part / usd);
  const parts = byPurchaseOption.map(
    ({ purchaseOption, usd: part }) => `${purchaseOption === 'spot' ? 'Spot' : 'On-Demand'} ${share(part)}`,
  );
  return <p class="quiet">{`Of the cost: ${parts.join(', ')}; lost work ${share(lost.usd)}.`}</p>;
}

function Deadline({ report: { deadline, finishedAt } }: { readonly report: Report }) {
  if (deadline.at === undefined) return <>none</>;
  const left = (Date.parse(deadline.at) - Date.parse(finishedAt)) / 1000;
  const title = timeText(deadline.at);
  if (deadline.met === null) return <>{title}</>;
  const text = left >= 0 ? `${durationText(left)} early` : `${durationText(-left)} late`;
  // A run that failed may have had time left.
  return (
    <span title={title}>{deadline.met ? `met, ${text}` : left < 0 ? `missed, ${text}` : 'not met'}</span>
  );
}

type Progress = Pick<NonNullable<View['progress']>, 'step' | 'totalSteps' | 'unit'>;

function Saved({ progress: { step, totalSteps, unit = 'step' } }: { readonly progress: Progress }) {
  if (totalSteps <= 0) return <>{`${unit} ${step}`}</>;
  return (
    <span>
      {`${unit} ${step} of ${totalSteps} `}
      <progress value={step} max={totalSteps} aria-label="saved work" />
    </span>
  );
}
