"""The whole embedded system under faults: chance decides what happens, and a witness sees every change."""
