import { describe, expect, it } from 'vitest';
import { countJunit, countVitest } from '../../../../cli/setup/runners.mjs';
import { closingLine } from '../../../../cli/setup/tests.mjs';

const vitestReport = (overrides: object) =>
  JSON.stringify({
    numPassedTests: 3,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
    testResults: [],
    ...overrides,
  });

describe('counting vitest’s report', () => {
  it('takes passed, failed and skipped as they are', () => {
    const file = { status: 'failed', assertionResults: [{ status: 'failed' }] };
    const report = vitestReport({
      numFailedTests: 1,
      numPendingTests: 2,
      numTodoTests: 1,
      testResults: [file],
    });
    expect(countVitest(report, 1)).toEqual({ passed: 3, failed: 1, skipped: 3 });
  });

  it('counts an unloadable file as a failure', () => {
    const report = vitestReport({ testResults: [{ status: 'failed', assertionResults: [] }] });
    expect(countVitest(report, 1)).toEqual({ passed: 3, failed: 1, skipped: 0 });
  });

  it('counts an error outside tests as a failure', () => {
    expect(countVitest(vitestReport({}), 1)).toEqual({ passed: 3, failed: 1, skipped: 0 });
    expect(countVitest(vitestReport({}), 0)).toEqual({ passed: 3, failed: 0, skipped: 0 });
  });

  it('counts a missing report as a failure', () => {
    expect(countVitest(undefined, 0).failed).toBe(1);
  });
});

describe('counting pytest’s report', () => {
  const suite = (attributes: string) =>
    `<?xml version="1.0"?><testsuites><testsuite ${attributes}><testcase/>`;

  it('takes failures, errors and skipped from all tests', () => {
    const text = suite('name="pytest" errors="1" failures="2" skipped="3" tests="10" time="1.5"');
    expect(countJunit(text, 1)).toEqual({ passed: 4, failed: 3, skipped: 3 });
  });

  it('fails a run with an error outside tests', () => {
    const text = suite('errors="0" failures="0" skipped="0" tests="4"');
    expect(countJunit(text, 3)).toEqual({ passed: 4, failed: 1, skipped: 0 });
    expect(countJunit(text, 0)).toEqual({ passed: 4, failed: 0, skipped: 0 });
  });

  it('counts a missing report as a failure', () => {
    expect(countJunit(undefined, 0).failed).toBe(1);
  });
});

it('the closing line names skipped tests only', () => {
  expect(closingLine({ passed: 4, failed: 0, skipped: 0 })).toBe('4 passed, 0 failed');
  expect(closingLine({ passed: 4, failed: 1, skipped: 2 })).toBe('4 passed, 1 failed, 2 skipped');
});
