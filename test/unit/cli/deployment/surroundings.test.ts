/** Each mistake in region, endpoint and credentials is named with its variable, its value and the remedy. */
import { describe, expect, it } from 'vitest';
import { networkRemedy } from '../../../../cli/deployment/surroundings.ts';
import { classify } from '../../../../functions/aws/s3/errors.ts';

const named = (name: string, message: string, more: object = {}): Error =>
  Object.assign(new Error(message), { name }, more);

describe('a call that did not arrive', () => {
  const refused = named('Error', 'connect ECONNREFUSED 127.0.0.1:9', { code: 'ECONNREFUSED' });

  it('names the address where nothing answers', () => {
    expect(networkRemedy(refused, { AWS_ENDPOINT_URL: 'http://127.0.0.1:9' })).toBe(
      'AWS_ENDPOINT_URL is "http://127.0.0.1:9", where nothing answers (ECONNREFUSED): run npm start and paste its line "for a shell", or unset AWS_ENDPOINT_URL for AWS',
    );
    const dataPath = classify({ operation: 'PutObject', key: 'k', status: 0, code: 'ENOTFOUND' });
    expect(networkRemedy(new Error('a drop failed', { cause: dataPath }), { AWS_REGION: 'mars-1' })).toBe(
      'AWS_REGION is "mars-1": its endpoints cannot be reached (ENOTFOUND): check the region\'s name, the network and HTTPS_PROXY',
    );
  });

  it('names the region, wherever it was set', () => {
    expect(networkRemedy(named('Error', 'no', { code: 'ENOTFOUND' }), {})).toMatch(
      /^the region is that of ~\/\.aws\/config: its endpoints cannot be reached/,
    );
  });

  it('names the credentials that are missing or refused', () => {
    const none = named('CredentialsProviderError', 'Could not load credentials from any providers');
    expect(networkRemedy(none, {})).toBe(
      'no AWS credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    );
    expect(networkRemedy(none, { AWS_PROFILE: 'nope' })).toContain(
      'AWS_PROFILE is "nope", which gives no credentials (Could not load',
    );
    const wrong = named('InvalidClientTokenId', 'The security token is invalid.');
    expect(networkRemedy(wrong, { AWS_ACCESS_KEY_ID: 'AKIA1' })).toBe(
      'AWS_ACCESS_KEY_ID is "AKIA1": AWS refuses these credentials (The security token is invalid.): set credentials that hold, or sign in again (aws sso login)',
    );
    const dataPath = classify({ operation: 'PutObject', key: 'k', status: 403, code: 'InvalidAccessKeyId' });
    expect(
      networkRemedy(dataPath, { AWS_ACCESS_KEY_ID: 'AKIA1', AWS_ENDPOINT_URL: 'http://127.0.0.1:4566' }),
    ).toContain('paste the line "for a shell" of its npm start again');
  });

  it('has no remedy of this kind for anything else', () => {
    expect(networkRemedy(named('ValidationError', 'no such thing'), {})).toBeUndefined();
    expect(networkRemedy('text', {})).toBeUndefined();
  });
});
