/** Makes client/src/generated from openapi.json; answers with a digest of what it was made from. */
export declare const generateClient: () => Promise<string>

/** Makes client/dist, too. What is there already and was made from the same is left alone. */
export declare const buildClient: () => Promise<void>
