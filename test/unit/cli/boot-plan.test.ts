import path from 'node:path';
import { readUserData } from '@tidewheel/emulators/ec2/boot-plan.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeUserData, userData } from '../../../functions/launch/ec2/user-data.ts';
import { AGENT_PATH } from '../../../functions/launch/job/job-parts.ts';

const host = {
  region: 'us-east-1',
  agentUri: 's3://data/agents/0123/',
  jobUri: 's3://data/runs/job.json',
  hostsUri: 's3://data/runs/hosts/',
  python: '/opt/pytorch/bin/python3',
  maximumSeconds: 3_600,
  instanceStore: true,
};

describe('the boot plan of a local instance', () => {
  it('is what the user data exports and fetches', () => {
    expect(readUserData(encodeUserData(userData(host)))).toEqual({
      environment: {
        AWS_DEFAULT_REGION: host.region,
        TIDEWHEEL_JOB_URI: host.jobUri,
        TIDEWHEEL_HOSTS_URI: host.hostsUri,
      },
      jobUri: host.jobUri,
      agentUri: host.agentUri,
      agentFolder: `${path.posix.dirname(AGENT_PATH)}/`,
      agentPath: AGENT_PATH,
    });
  });

  it('holds addresses as they were, whatever stands in them', () => {
    const key = fc.string({ maxLength: 40 }).filter((text) => !/[\0\n\r]/.test(text));
    fc.assert(
      fc.property(key, key, (agent, job) => {
        const uris = { agentUri: `s3://data/${agent}/`, jobUri: `s3://data/${job}` };
        expect(readUserData(encodeUserData(userData({ ...host, ...uris })))).toMatchObject({
          ...uris,
        });
      }),
    );
  });

  it('is read from the script of 0.1.0', () => {
    const script = userData(host)
      .replace(' --recursive', '')
      .replace(`'${host.agentUri}'`, `'${host.agentUri}tidewheel.pyz'`)
      .replace(`'${path.posix.dirname(AGENT_PATH)}/'`, `'${AGENT_PATH}'`);
    expect(readUserData(encodeUserData(script))).toMatchObject({
      agentUri: `${host.agentUri}tidewheel.pyz`,
      agentFolder: AGENT_PATH,
      agentPath: AGENT_PATH,
    });
  });

  it('is none for a foreign script', () => {
    for (const script of [
      '',
      '#!/bin/sh\nshutdown -h now\n',
      "aws s3 cp --only-show-errors --recursive 's3://a/b' 'c'",
    ]) {
      expect(readUserData(encodeUserData(script))).toBeUndefined();
    }
  });
});
