module {
  aie.device(npu2) {
    %shim_0_0 = aie.tile(0, 0)
    %shim_1_0 = aie.tile(1, 0)
    %shim_2_0 = aie.tile(2, 0)
    %shim_3_0 = aie.tile(3, 0)
    %core_0_2 = aie.tile(0, 2)
    %core_1_2 = aie.tile(1, 2)
    %core_2_2 = aie.tile(2, 2)
    %core_3_2 = aie.tile(3, 2)
    aie.objectfifo @x_0(%shim_0_0, {%core_0_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @x_1(%shim_1_0, {%core_1_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @x_2(%shim_2_0, {%core_2_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @x_3(%shim_3_0, {%core_3_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_out_0(%core_0_2, {%shim_0_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_out_1(%core_1_2, {%shim_1_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_out_2(%core_2_2, {%shim_2_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_out_3(%core_3_2, {%shim_3_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    %e_0_2 = aie.buffer(%core_0_2) {sym_name = "e_0_2"} : memref<4xf32>
    %e1_0_2 = aie.buffer(%core_0_2) {sym_name = "e1_0_2"} : memref<256xf32>
    %y_0_2 = aie.buffer(%core_0_2) {sym_name = "y_0_2"} : memref<4xf32>
    aie.core(%core_0_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %cst = arith.constant dense<0xFF800000> : vector<16xf32>
      %c64 = arith.constant 64 : index
      %c16 = arith.constant 16 : index
      %cst_1 = arith.constant dense<0.0> : vector<16xf32>
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_0(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_out_0(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y_out = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c4 step %c1 {
          %k_out = scf.for %k = %c0 to %c4 step %c1 iter_args(%k_acc = %cst) -> (vector<16xf32>) {
            %at = arith.muli %i, %c64 : index
            %at_1 = arith.muli %k, %c16 : index
            %at_2 = arith.addi %at, %at_1 : index
            %x_1 = vector.load %x[%at_2] : memref<256xf32>, vector<16xf32>
            %max = arith.maximumf %k_acc, %x_1 : vector<16xf32>
            scf.yield %max : vector<16xf32>
          }
          %total = vector.reduction <maximumf>, %k_out : vector<16xf32> into f32
          memref.store %total, %e_0_2[%i] : memref<4xf32>
        }
        scf.for %i_1 = %c0 to %c4 step %c1 {
          scf.for %i_2 = %c0 to %c4 step %c1 {
            %at_3 = arith.muli %i_1, %c64 : index
            %at_4 = arith.muli %i_2, %c16 : index
            %at_5 = arith.addi %at_3, %at_4 : index
            %x_2 = vector.load %x[%at_5] : memref<256xf32>, vector<16xf32>
            %x_3 = memref.load %e_0_2[%i_1] : memref<4xf32>
            %splat = vector.broadcast %x_3 : f32 to vector<16xf32>
            %sub = arith.subf %x_2, %splat : vector<16xf32>
            %exp = math.exp %sub : vector<16xf32>
            vector.store %exp, %e1_0_2[%at_5] : memref<256xf32>, vector<16xf32>
          }
        }
        scf.for %i_3 = %c0 to %c4 step %c1 {
          %k_out_1 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc_1 = %cst_1) -> (vector<16xf32>) {
            %at_6 = arith.muli %i_3, %c64 : index
            %at_7 = arith.muli %k_1, %c16 : index
            %at_8 = arith.addi %at_6, %at_7 : index
            %x_4 = vector.load %e1_0_2[%at_8] : memref<256xf32>, vector<16xf32>
            %add = arith.addf %k_acc_1, %x_4 : vector<16xf32>
            scf.yield %add : vector<16xf32>
          }
          %total_1 = vector.reduction <add>, %k_out_1 : vector<16xf32> into f32
          memref.store %total_1, %y_0_2[%i_3] : memref<4xf32>
        }
        scf.for %i_4 = %c0 to %c4 step %c1 {
          scf.for %i_5 = %c0 to %c4 step %c1 {
            %at_9 = arith.muli %i_4, %c64 : index
            %at_10 = arith.muli %i_5, %c16 : index
            %at_11 = arith.addi %at_9, %at_10 : index
            %x_5 = vector.load %e1_0_2[%at_11] : memref<256xf32>, vector<16xf32>
            %x_6 = memref.load %y_0_2[%i_4] : memref<4xf32>
            %splat_1 = vector.broadcast %x_6 : f32 to vector<16xf32>
            %div = arith.divf %x_5, %splat_1 : vector<16xf32>
            vector.store %div, %y_out[%at_11] : memref<256xf32>, vector<16xf32>
          }
        }
        aie.objectfifo.release @x_0(Consume, 1)
        aie.objectfifo.release @y_out_0(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    %e_1_2 = aie.buffer(%core_1_2) {sym_name = "e_1_2"} : memref<4xf32>
    %e1_1_2 = aie.buffer(%core_1_2) {sym_name = "e1_1_2"} : memref<256xf32>
    %y_1_2 = aie.buffer(%core_1_2) {sym_name = "y_1_2"} : memref<4xf32>
    aie.core(%core_1_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %cst = arith.constant dense<0xFF800000> : vector<16xf32>
      %c64 = arith.constant 64 : index
      %c16 = arith.constant 16 : index
      %cst_1 = arith.constant dense<0.0> : vector<16xf32>
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_1(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_out_1(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y_out = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c4 step %c1 {
          %k_out = scf.for %k = %c0 to %c4 step %c1 iter_args(%k_acc = %cst) -> (vector<16xf32>) {
            %at = arith.muli %i, %c64 : index
            %at_1 = arith.muli %k, %c16 : index
            %at_2 = arith.addi %at, %at_1 : index
            %x_1 = vector.load %x[%at_2] : memref<256xf32>, vector<16xf32>
            %max = arith.maximumf %k_acc, %x_1 : vector<16xf32>
            scf.yield %max : vector<16xf32>
          }
          %total = vector.reduction <maximumf>, %k_out : vector<16xf32> into f32
          memref.store %total, %e_1_2[%i] : memref<4xf32>
        }
        scf.for %i_1 = %c0 to %c4 step %c1 {
          scf.for %i_2 = %c0 to %c4 step %c1 {
            %at_3 = arith.muli %i_1, %c64 : index
            %at_4 = arith.muli %i_2, %c16 : index
            %at_5 = arith.addi %at_3, %at_4 : index
            %x_2 = vector.load %x[%at_5] : memref<256xf32>, vector<16xf32>
            %x_3 = memref.load %e_1_2[%i_1] : memref<4xf32>
            %splat = vector.broadcast %x_3 : f32 to vector<16xf32>
            %sub = arith.subf %x_2, %splat : vector<16xf32>
            %exp = math.exp %sub : vector<16xf32>
            vector.store %exp, %e1_1_2[%at_5] : memref<256xf32>, vector<16xf32>
          }
        }
        scf.for %i_3 = %c0 to %c4 step %c1 {
          %k_out_1 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc_1 = %cst_1) -> (vector<16xf32>) {
            %at_6 = arith.muli %i_3, %c64 : index
            %at_7 = arith.muli %k_1, %c16 : index
            %at_8 = arith.addi %at_6, %at_7 : index
            %x_4 = vector.load %e1_1_2[%at_8] : memref<256xf32>, vector<16xf32>
            %add = arith.addf %k_acc_1, %x_4 : vector<16xf32>
            scf.yield %add : vector<16xf32>
          }
          %total_1 = vector.reduction <add>, %k_out_1 : vector<16xf32> into f32
          memref.store %total_1, %y_1_2[%i_3] : memref<4xf32>
        }
        scf.for %i_4 = %c0 to %c4 step %c1 {
          scf.for %i_5 = %c0 to %c4 step %c1 {
            %at_9 = arith.muli %i_4, %c64 : index
            %at_10 = arith.muli %i_5, %c16 : index
            %at_11 = arith.addi %at_9, %at_10 : index
            %x_5 = vector.load %e1_1_2[%at_11] : memref<256xf32>, vector<16xf32>
            %x_6 = memref.load %y_1_2[%i_4] : memref<4xf32>
            %splat_1 = vector.broadcast %x_6 : f32 to vector<16xf32>
            %div = arith.divf %x_5, %splat_1 : vector<16xf32>
            vector.store %div, %y_out[%at_11] : memref<256xf32>, vector<16xf32>
          }
        }
        aie.objectfifo.release @x_1(Consume, 1)
        aie.objectfifo.release @y_out_1(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    %e_2_2 = aie.buffer(%core_2_2) {sym_name = "e_2_2"} : memref<4xf32>
    %e1_2_2 = aie.buffer(%core_2_2) {sym_name = "e1_2_2"} : memref<256xf32>
    %y_2_2 = aie.buffer(%core_2_2) {sym_name = "y_2_2"} : memref<4xf32>
    aie.core(%core_2_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %cst = arith.constant dense<0xFF800000> : vector<16xf32>
      %c64 = arith.constant 64 : index
      %c16 = arith.constant 16 : index
      %cst_1 = arith.constant dense<0.0> : vector<16xf32>
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_2(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_out_2(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y_out = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c4 step %c1 {
          %k_out = scf.for %k = %c0 to %c4 step %c1 iter_args(%k_acc = %cst) -> (vector<16xf32>) {
            %at = arith.muli %i, %c64 : index
            %at_1 = arith.muli %k, %c16 : index
            %at_2 = arith.addi %at, %at_1 : index
            %x_1 = vector.load %x[%at_2] : memref<256xf32>, vector<16xf32>
            %max = arith.maximumf %k_acc, %x_1 : vector<16xf32>
            scf.yield %max : vector<16xf32>
          }
          %total = vector.reduction <maximumf>, %k_out : vector<16xf32> into f32
          memref.store %total, %e_2_2[%i] : memref<4xf32>
        }
        scf.for %i_1 = %c0 to %c4 step %c1 {
          scf.for %i_2 = %c0 to %c4 step %c1 {
            %at_3 = arith.muli %i_1, %c64 : index
            %at_4 = arith.muli %i_2, %c16 : index
            %at_5 = arith.addi %at_3, %at_4 : index
            %x_2 = vector.load %x[%at_5] : memref<256xf32>, vector<16xf32>
            %x_3 = memref.load %e_2_2[%i_1] : memref<4xf32>
            %splat = vector.broadcast %x_3 : f32 to vector<16xf32>
            %sub = arith.subf %x_2, %splat : vector<16xf32>
            %exp = math.exp %sub : vector<16xf32>
            vector.store %exp, %e1_2_2[%at_5] : memref<256xf32>, vector<16xf32>
          }
        }
        scf.for %i_3 = %c0 to %c4 step %c1 {
          %k_out_1 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc_1 = %cst_1) -> (vector<16xf32>) {
            %at_6 = arith.muli %i_3, %c64 : index
            %at_7 = arith.muli %k_1, %c16 : index
            %at_8 = arith.addi %at_6, %at_7 : index
            %x_4 = vector.load %e1_2_2[%at_8] : memref<256xf32>, vector<16xf32>
            %add = arith.addf %k_acc_1, %x_4 : vector<16xf32>
            scf.yield %add : vector<16xf32>
          }
          %total_1 = vector.reduction <add>, %k_out_1 : vector<16xf32> into f32
          memref.store %total_1, %y_2_2[%i_3] : memref<4xf32>
        }
        scf.for %i_4 = %c0 to %c4 step %c1 {
          scf.for %i_5 = %c0 to %c4 step %c1 {
            %at_9 = arith.muli %i_4, %c64 : index
            %at_10 = arith.muli %i_5, %c16 : index
            %at_11 = arith.addi %at_9, %at_10 : index
            %x_5 = vector.load %e1_2_2[%at_11] : memref<256xf32>, vector<16xf32>
            %x_6 = memref.load %y_2_2[%i_4] : memref<4xf32>
            %splat_1 = vector.broadcast %x_6 : f32 to vector<16xf32>
            %div = arith.divf %x_5, %splat_1 : vector<16xf32>
            vector.store %div, %y_out[%at_11] : memref<256xf32>, vector<16xf32>
          }
        }
        aie.objectfifo.release @x_2(Consume, 1)
        aie.objectfifo.release @y_out_2(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    %e_3_2 = aie.buffer(%core_3_2) {sym_name = "e_3_2"} : memref<4xf32>
    %e1_3_2 = aie.buffer(%core_3_2) {sym_name = "e1_3_2"} : memref<256xf32>
    %y_3_2 = aie.buffer(%core_3_2) {sym_name = "y_3_2"} : memref<4xf32>
    aie.core(%core_3_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %cst = arith.constant dense<0xFF800000> : vector<16xf32>
      %c64 = arith.constant 64 : index
      %c16 = arith.constant 16 : index
      %cst_1 = arith.constant dense<0.0> : vector<16xf32>
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_3(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_out_3(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y_out = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c4 step %c1 {
          %k_out = scf.for %k = %c0 to %c4 step %c1 iter_args(%k_acc = %cst) -> (vector<16xf32>) {
            %at = arith.muli %i, %c64 : index
            %at_1 = arith.muli %k, %c16 : index
            %at_2 = arith.addi %at, %at_1 : index
            %x_1 = vector.load %x[%at_2] : memref<256xf32>, vector<16xf32>
            %max = arith.maximumf %k_acc, %x_1 : vector<16xf32>
            scf.yield %max : vector<16xf32>
          }
          %total = vector.reduction <maximumf>, %k_out : vector<16xf32> into f32
          memref.store %total, %e_3_2[%i] : memref<4xf32>
        }
        scf.for %i_1 = %c0 to %c4 step %c1 {
          scf.for %i_2 = %c0 to %c4 step %c1 {
            %at_3 = arith.muli %i_1, %c64 : index
            %at_4 = arith.muli %i_2, %c16 : index
            %at_5 = arith.addi %at_3, %at_4 : index
            %x_2 = vector.load %x[%at_5] : memref<256xf32>, vector<16xf32>
            %x_3 = memref.load %e_3_2[%i_1] : memref<4xf32>
            %splat = vector.broadcast %x_3 : f32 to vector<16xf32>
            %sub = arith.subf %x_2, %splat : vector<16xf32>
            %exp = math.exp %sub : vector<16xf32>
            vector.store %exp, %e1_3_2[%at_5] : memref<256xf32>, vector<16xf32>
          }
        }
        scf.for %i_3 = %c0 to %c4 step %c1 {
          %k_out_1 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc_1 = %cst_1) -> (vector<16xf32>) {
            %at_6 = arith.muli %i_3, %c64 : index
            %at_7 = arith.muli %k_1, %c16 : index
            %at_8 = arith.addi %at_6, %at_7 : index
            %x_4 = vector.load %e1_3_2[%at_8] : memref<256xf32>, vector<16xf32>
            %add = arith.addf %k_acc_1, %x_4 : vector<16xf32>
            scf.yield %add : vector<16xf32>
          }
          %total_1 = vector.reduction <add>, %k_out_1 : vector<16xf32> into f32
          memref.store %total_1, %y_3_2[%i_3] : memref<4xf32>
        }
        scf.for %i_4 = %c0 to %c4 step %c1 {
          scf.for %i_5 = %c0 to %c4 step %c1 {
            %at_9 = arith.muli %i_4, %c64 : index
            %at_10 = arith.muli %i_5, %c16 : index
            %at_11 = arith.addi %at_9, %at_10 : index
            %x_5 = vector.load %e1_3_2[%at_11] : memref<256xf32>, vector<16xf32>
            %x_6 = memref.load %y_3_2[%i_4] : memref<4xf32>
            %splat_1 = vector.broadcast %x_6 : f32 to vector<16xf32>
            %div = arith.divf %x_5, %splat_1 : vector<16xf32>
            vector.store %div, %y_out[%at_11] : memref<256xf32>, vector<16xf32>
          }
        }
        aie.objectfifo.release @x_3(Consume, 1)
        aie.objectfifo.release @y_out_3(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    aie.runtime_sequence(%x_host: memref<1024xf32>, %y_host: memref<1024xf32>) {
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_0} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_1} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 512][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_2} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 768][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_3} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_out_0} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_out_1} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 512][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_out_2} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 768][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_out_3} : memref<1024xf32>
      aiex.npu.dma_wait {symbol = @x_0}
      aiex.npu.dma_wait {symbol = @x_1}
      aiex.npu.dma_wait {symbol = @x_2}
      aiex.npu.dma_wait {symbol = @x_3}
      aiex.npu.dma_wait {symbol = @y_out_0}
      aiex.npu.dma_wait {symbol = @y_out_1}
      aiex.npu.dma_wait {symbol = @y_out_2}
      aiex.npu.dma_wait {symbol = @y_out_3}
    }
  }
}
