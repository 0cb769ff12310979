import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Notice } from '../../functions/records/notices.ts';
import { resolve } from './intrinsics.ts';
import { ofType, type Packaged, packaged, type Resource } from './packaged.ts';

let made: Packaged;
beforeAll(async () => {
  made = await packaged();
}, 300_000);

const alarms = (): [string, Resource][] => ofType(made.template, 'AWS::CloudWatch::Alarm');
const resolved = (value: unknown): unknown => resolve(made.template, value);

describe('the alarms', () => {
  it('watch every dead-letter queue', () => {
    const letters = ofType(made.template, 'AWS::SQS::Queue').filter(
      ([, { Properties }]) => Properties['RedrivePolicy'] === undefined,
    );
    const watched = alarms()
      .filter(([, { Properties }]) => Properties['MetricName'] === 'ApproximateNumberOfMessagesVisible')
      .map(([, { Properties }]) => Properties['Dimensions']);
    expect(letters.length).toBeGreaterThan(0);
    for (const [id] of letters)
      expect(watched).toContainEqual([{ Name: 'QueueName', Value: { 'Fn::GetAtt': [id, 'QueueName'] } }]);
  });

  it('watch what docs/deploy.md names, beside dead letters', () => {
    const watched = alarms()
      .filter(([id]) => !id.endsWith('DeadLettersAlarm'))
      .map(([, { Properties }]) => {
        const { Namespace, MetricName, Period, EvaluationPeriods, ComparisonOperator, Threshold } =
          Properties;
        const minutes = (Number(Period) * Number(EvaluationPeriods)) / 60;
        const isBelow = ComparisonOperator === 'LessThanThreshold';
        return [
          `${String(Namespace)} ${String(MetricName)}`,
          `${isBelow ? 'below' : 'above'} ${String(Threshold)} in ${minutes} min`,
        ] as const;
      });
    expect(Object.fromEntries(watched)).toEqual({
      'AWS/Lambda Errors': 'above 2 in 60 min',
      'AWS/Lambda Invocations': 'below 1 in 15 min',
      'AWS/Lambda Throttles': 'above 0 in 15 min',
      'AWS/SQS ApproximateAgeOfOldestMessage': 'above 60 in 1 min',
      'AWS/States ExecutionsFailed': 'above 0 in 5 min',
      'Tidewheel PartialFailures': 'above 2 in 240 min',
    });
  });

  it('announce runs that fail, stall or hang', () => {
    const pattern = made.template.Resources['NoticeRule']?.Properties['EventPattern'];
    expect(pattern).toEqual({
      source: ['tidewheel'],
      'detail-type': ['RunFailed', 'CheckpointStalled', 'ScriptHangs'] satisfies Notice['type'][],
    });
  });

  it('publish to a topic that lets CloudWatch publish', () => {
    for (const [, { Properties }] of alarms()) {
      expect(Properties['AlarmActions']).toEqual([{ Ref: 'AlarmTopic' }]);
      expect(Properties['OKActions']).toEqual([{ Ref: 'AlarmTopic' }]);
    }
    const policy = JSON.stringify(made.template.Resources['AlarmTopicPolicy']?.Properties);
    expect(policy).toContain('"Principal":{"Service":"cloudwatch.amazonaws.com"}');
    expect(policy).toContain('"Principal":{"Service":"events.amazonaws.com"}');
  });

  it('treat silence of reconcile alone as an alarm', () => {
    const breaching = alarms().filter(([, { Properties }]) => Properties['TreatMissingData'] === 'breaching');
    expect(breaching.map(([id]) => id)).toEqual(['ReconcileMissingAlarm']);
  });

  it('name functions that exist', () => {
    const functions = ofType(made.template, 'AWS::Lambda::Function').map(
      ([, { Properties }]) => Properties['FunctionName'],
    );
    const named = alarms()
      .flatMap(([, { Properties }]) => Properties['Dimensions'] as { Name: string; Value: unknown }[])
      .filter((dimension) => /^functionName$/i.test(dimension?.Name ?? ''))
      .map(({ Value }) => resolved(Value));
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) expect(functions).toContain(name);
  });

  it('cost at most $1.20 a month, $1.30 with registries', () => {
    // $0.10 for each metric of standard resolution: https://aws.amazon.com/cloudwatch/pricing/
    const always = alarms().filter(([, { Condition }]) => Condition === undefined);
    expect(always.length).toBeLessThanOrEqual(12);
    expect(alarms().length).toBeLessThanOrEqual(13);
  });
});

const dashboardBody = z.object({ 'Fn::Sub': z.string() });
const dashboardSchema = z.object({
  widgets: z.array(z.object({ properties: z.object({ metrics: z.array(z.array(z.unknown())) }) })),
});

describe('the dashboard', () => {
  /** With registries, and without. */
  const bodies = () => {
    const [[, found] = []] = ofType(made.template, 'AWS::CloudWatch::Dashboard');
    const either = z.object({ 'Fn::If': z.tuple([z.string(), dashboardBody, dashboardBody]) });
    return either
      .parse(found?.Properties['DashboardBody'])
      ['Fn::If'].slice(1)
      .map((each) => {
        const { widgets } = dashboardSchema.parse(JSON.parse(dashboardBody.parse(each)['Fn::Sub']));
        return widgets.flatMap(({ properties }) => properties.metrics);
      });
  };

  it('reads fifty metrics at most', () => {
    for (const metrics of bodies()) {
      expect(metrics.length).toBeGreaterThan(0);
      // A dashboard with more is not among the three that are free of charge.
      expect(metrics.length).toBeLessThanOrEqual(50);
    }
  });

  it('shows every queue that is there', () => {
    const queues = ofType(made.template, 'AWS::SQS::Queue');
    const always = queues.filter(([, { Condition }]) => Condition === undefined);
    const shown = bodies().map((metrics) =>
      metrics.flatMap(([, , , name]) => /^\$\{(\w+)\.QueueName\}$/.exec(String(name))?.[1] ?? []).sort(),
    );
    expect(shown).toEqual([queues, always].map((each) => each.map(([id]) => id).sort()));
  });
});

describe('the log of the state machine', () => {
  it('holds errors and no data', () => {
    const [[, machine] = ['', undefined]] = ofType(made.template, 'AWS::StepFunctions::StateMachine');
    expect(machine?.Properties['LoggingConfiguration']).toMatchObject({
      Level: 'ERROR',
      IncludeExecutionData: false,
    });
  });
});
