/** Verdicts for a terminal. */
import type { EvidencePoint } from '@tidewheel/contract/evidence.ts';
import type { Evidence } from './evidence.ts';
import { gainText } from './gain.ts';
import { ladderOf, type Rung } from './ladder.ts';
import type { Gain, GainInterval, Verdict } from './verdict.ts';

const BARS = '▁▂▃▄▅▆▇█';
const COLUMNS = 60;

/** Shares from 0 to 1 as a row of bars; the newest where there are too many. */
const plot = (shares: readonly number[]): string =>
  shares
    .slice(-COLUMNS)
    .map((share) => BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? '')
    .join('');

const SHARES: readonly (readonly [string, (point: EvidencePoint) => number])[] = [
  ['wait', ({ shares }) => shares.wait],
  ['compute', ({ shares }) => shares.compute],
  ['save', ({ shares }) => shares.save],
  ['exchange', ({ shares }) => shares.exchange],
  ['gpu', ({ gpu }) => gpu?.busy ?? 0],
  ['cpu', ({ cpu }) => cpu.all / cpu.cores],
];

const number = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));
const within = ({ low, expected, high }: GainInterval): string =>
  `${number(expected)} (${number(low)} to ${number(high)})`;

function saves(gain: Gain, of = ''): string {
  const saved = gainText(gain, within);
  return saved === undefined ? 'may save or cost: the forecast does not tell which' : `saves ${saved}${of}`;
}

export function formatVerdicts(evidence: Evidence, verdicts: readonly Verdict[]): string {
  if (verdicts.length === 0) return 'too few points: five of each host are needed, a point is ten seconds';
  const hosts = [...new Set(evidence.points.map(({ host }) => host))].sort((a, b) => a - b);
  const plots = hosts.flatMap((host) => [
    `host ${host}, shares of 0 to 1, a column for ten seconds`,
    ...SHARES.map(([name, of]) => {
      const points = evidence.points.filter((each) => each.host === host);
      return `  ${name.padEnd(9)}${plot(points.map(of))}`;
    }),
  ]);
  return [
    ...plots,
    ...verdicts.flatMap((verdict, k) => ['', ...lines(verdict, k + 1)]),
    '',
    'the ladder',
    ...ladderOf(evidence).map(rungLine),
  ].join('\n');
}

function rungLine({ rung, verdict, evidence, text }: Rung): string {
  const facts = Object.entries(evidence).map(([name, value]) => `${name} ${number(value)}`);
  return `  ${rung.padEnd(21)} ${verdict.padEnd(13)} ${text}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
}

function lines(
  { cause, evidence, remedy, gain, others = [], also, unknown, next }: Verdict,
  place: number,
): readonly string[] {
  const facts = Object.entries(evidence).map(([name, value]) => `${name} ${number(value)}`);
  return [
    `${place}. ${cause}: ${facts.join(', ')}`,
    ...(remedy === undefined
      ? []
      : [`   change (${remedy.where}): ${remedy.text}`, `   ${saves(gain, ' over the job')}`]),
    ...(next === undefined ? [] : [`   then the limit is ${next}`]),
    ...others.flatMap((each) => [
      `   or (${each.remedy.where}): ${each.remedy.text}`,
      `      ${saves(each.gain)}; not known: ${each.unknown.join('; ')}`,
    ]),
    ...also.map((each) => `   also: ${each}`),
    ...unknown.map((each) => `   not known: ${each}`),
  ];
}
