declare module 'asl-validator' {
  /** @param definition an Amazon States Language document, parsed */
  export default function aslValidator(definition: unknown): {
    readonly isValid: boolean;
    readonly errors: readonly unknown[];
  };
}
