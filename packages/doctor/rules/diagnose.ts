/** What holds a training back, ranked by the money that its remedy saves. */
import { isDeclared } from './declared-change.ts';
import type { Evidence } from './evidence.ts';
import { furtherRemedies } from './further-remedies.ts';
import { type DoctorFinding, gainOf, othersOf, verdictFrom } from './gain.ts';
import { inputFinding } from './input.ts';
import { loopFindings } from './loop.ts';
import { type Measures, measuresOf } from './measures.ts';
import { nextAfter } from './next-limit.ts';
import { gainsBy16Bits, halfPrecision, precisionFinding } from './precision.ts';
import { startUpFindings } from './start-up.ts';
import { scriptFindings } from './training.ts';
import type { Verdict } from './verdict.ts';

/** A gain below this share of the job's time and money is not worth a change. */
const WORTH = 0.05;
const WORTH_SECONDS = 0.1;

/** The most worthwhile first; empty where there are too few steps to judge. */
export function diagnose(evidence: Evidence): readonly Verdict[] {
  const measures = measuresOf(evidence);
  if (measures === undefined) return [];
  const input = inputFinding(evidence, measures);
  const precision = precisionFinding(evidence, measures);
  const findings = [
    ...(input ? [input] : []),
    ...loopFindings(measures),
    ...startUpFindings(evidence, measures),
    ...scriptFindings(evidence, measures),
    ...(precision ? [precision] : []),
  ];
  const verdicts = findings
    .flatMap((each) => undeclared(each, evidence))
    .map((each) => verdictFrom(each, evidence, measures))
    .toSorted((a, b) => worth(b, measures) - worth(a, measures));
  const worthwhile = verdicts.filter((each) => worth(each, measures) >= WORTH);
  if (worthwhile.length > 0) return worthwhile;
  // Time counts where nothing saves money: the remedy is named with what it costs.
  const faster = verdicts.filter(({ gain }) => gain.seconds.expected >= WORTH_SECONDS * measures.jobSeconds);
  return faster.length > 0 ? faster : [nothingWrong(evidence, measures)];
}

/** The finding by its first remedy that is not declared; none where all are. */
function undeclared(finding: DoctorFinding, { declaration }: Evidence): readonly DoctorFinding[] {
  if (declaration === undefined) return [finding];
  const options = [finding, ...(finding.others ?? [])].filter(
    ({ change }) => !isDeclared(change, declaration),
  );
  const [first, ...others] = options;
  if (first === undefined) return [];
  const { cause, evidence, stepSecondsNow } = finding;
  return [{ cause, evidence, ...(stepSecondsNow !== undefined && { stepSecondsNow }), ...first, others }];
}

const worth = ({ gain }: Verdict, { jobSeconds, usdPerSecond }: Measures): number =>
  gain.dollars.expected / (jobSeconds * usdPerSecond);

/** The steps are as fast as the accelerator computes them, so only less arithmetic makes them faster. */
function nothingWrong(evidence: Evidence, measures: Measures): Verdict {
  const { pace } = measures;
  const halved = halfPrecision(evidence, measures);
  const none = { low: 0, expected: 0, high: 0 };
  return {
    cause: 'nothing-wrong',
    evidence: {
      stepSeconds: pace.stepSeconds,
      computeShare: pace.compute / pace.stepSeconds,
      waitShare: pace.wait / pace.stepSeconds,
    },
    remedy: undefined,
    gain: { seconds: none, dollars: none },
    ...(halved && {
      others: othersOf(
        [halved],
        (each) => gainOf(each, { evidence, measures, stepNow: pace.stepSeconds }),
        evidence,
      ),
    }),
    also:
      halved === undefined && gainsBy16Bits(evidence, measures)
        ? furtherRemedies('nothing-wrong', evidence)
        : [],
    unknown: ['what a profile of the model itself would show'],
    next: nextAfter('nothing-wrong', measures),
  };
}
