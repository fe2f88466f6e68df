export * from 'ai';
