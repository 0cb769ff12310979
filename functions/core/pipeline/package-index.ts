/** Where the source's requirements come from, if not from the public index: the `packageIndex` part of `training`. */
import * as z from 'zod';

export const packageIndexSchema = z
  .strictObject({
    url: z
      .string()
      .max(500)
      .regex(/^https:\/\/[^\s@]+$/, 'write an https address without user name or password')
      .describe('A simple index as pip reads it, such as https://packages.example.com/simple/.'),
    secret: z
      .string()
      .max(512)
      .regex(
        /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,400}$/,
        'write the ARN of a secret in Secrets Manager',
      )
      .optional()
      .describe('Its credentials: {"username": …, "password": …}, or a token alone.'),
  })
  .describe('A private package index for requirements.txt.');
