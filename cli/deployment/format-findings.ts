/** The list that a person reads: what would fail first, what passed last. */
import type { Finding } from '../../functions/check/finding.ts';

const ORDER = ['fails', 'limited', 'notSeen', 'passed'] as const satisfies readonly Finding['kind'][];
const MARKS: Readonly<Record<Finding['kind'], string>> = {
  fails: '✗',
  limited: '!',
  notSeen: '?',
  passed: '✓',
};

export function formatFindings(findings: readonly Finding[]): string {
  const lines = ORDER.flatMap((kind) => findings.filter((each) => each.kind === kind).map(formatFinding));
  return `${lines.join('\n')}\n\n${summaryOf(findings)}`;
}

function formatFinding(finding: Finding): string {
  const head = `${MARKS[finding.kind]} ${finding.check}: ${finding.field}`;
  switch (finding.kind) {
    case 'passed':
      return `${head}: ${finding.value}`;
    case 'notSeen':
      return `${head}\n    could not look: ${finding.message}\n    → ${finding.remedy}`;
    case 'fails':
    case 'limited':
      return `${head}: ${finding.value}\n    ${finding.message}\n    → ${finding.remedy}`;
  }
}

function summaryOf(findings: readonly Finding[]): string {
  const count = (kind: Finding['kind']) => findings.filter((each) => each.kind === kind).length;
  return `${count('fails')} would fail, ${count('limited')} work with limits, ${count('notSeen')} could not be seen, ${count('passed')} passed`;
}
